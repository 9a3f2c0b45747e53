// What scrolls sideways can be reached, and scrolled, by keyboard.
const WIDE = "pre, .math, .table-wrapper";

function reach() {
  for (const box of document.querySelectorAll(WIDE))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
}

addEventListener("load", reach);
addEventListener("resize", reach);
