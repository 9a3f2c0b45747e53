// What scrolls sideways can be reached, and scrolled, by keyboard, and shows on which side it is cut.
const WIDE = "pre, .math, .table-wrapper, .picture";

function shade(box) {
  box.classList.toggle("more", box.scrollWidth - box.scrollLeft > box.clientWidth + 1);
}

function reach() {
  for (const box of document.querySelectorAll(WIDE)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    shade(box);
  }
}

addEventListener("load", reach);
addEventListener("resize", reach);
document.addEventListener("scroll", ({ target }) => target.matches?.(WIDE) && shade(target), true);

// A picture gets a box of its own: on a phone it keeps a size at which it can be read, and scrolls.
for (const picture of document.querySelectorAll("article img")) {
  const box = document.createElement("div");
  box.className = "picture";
  picture.replaceWith(box);
  box.append(picture);
}

// A short formula is not broken, and no line begins with the comma that belongs to it. A long one must be free to break.
for (const formula of document.querySelectorAll("span.math")) {
  formula.classList.add("unbroken");
  if (formula.offsetWidth > 200) {
    formula.classList.remove("unbroken");
    continue;
  }
  const next = formula.nextSibling;
  const mark = next?.nodeType === Node.TEXT_NODE && next.data.match(/^[.,;:?!)]+/);
  if (!mark) continue;
  const together = document.createElement("span");
  together.className = "unbroken";
  formula.replaceWith(together);
  together.append(formula, mark[0]);
  next.data = next.data.slice(mark[0].length);
}

// A number keeps its unit beside it, an option its dashes, and "Table" its number.
for (const cell of document.querySelectorAll("td.text-right"))
  if (cell.textContent.trim().length <= 14) cell.classList.add("number");
for (const word of document.querySelectorAll("code .pre"))
  if (/^--\w/.test(word.textContent)) word.classList.add("unbroken");

const KEPT = /(?<=\d) (?=[%±]|(?:[kMGT]i?B|ms|nats)\b)|(?<=±) (?=\d)|(?<=\b(?:Table|Figure|Notebook|Exercise)) (?=\d)/gi;
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const text = texts.currentNode;
  if (!text.parentElement.closest("pre, script")) text.data = text.data.replace(KEPT, "\u00a0");
}

// Long names break after a dot, a low line or a slash, not inside a word.
for (const name of document.querySelectorAll("h1, h2, .sig-name .pre, .sig-prename .pre")) {
  const text = name.firstChild;
  if (text?.nodeType !== Node.TEXT_NODE) continue;
  const [first, ...rest] = text.data.split(/(?<=\w[._/])(?=[^\W\d])/);
  text.replaceWith(first, ...rest.flatMap((part) => [document.createElement("wbr"), part]));
}
