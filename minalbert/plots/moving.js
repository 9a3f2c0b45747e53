// What the moving pictures share. No library, nothing fetched: moving.py puts this file and a picture's own into one
// function that ends with mount(id, data). The picture's file has first(data), controls(state, change), shown(state).

const STYLE = `
  :host { display: block; font-size: 0.9rem; line-height: 1.5; }
  * { box-sizing: border-box; }
  p { margin: 0.4rem 0; }
  code, table, .mono { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.8rem; }
  button, textarea { font: inherit; color: inherit; background: none; border: 1px solid #808080; border-radius: 4px; }
  button { min-width: 30px; min-height: 28px; padding: 0 0.6em; cursor: pointer; }
  button:hover { background: #80808030; }
  button[aria-pressed=true] { background: #0072B2; color: white; border-color: #0072B2; font-weight: bold; }
  :focus-visible { outline: 3px solid #D55E00; outline-offset: 1px; }
  .choices { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin: 0.5rem 0; }
  input { flex: 1 1 8rem; min-width: 6rem; max-width: 24rem; height: 28px; margin: 0; accent-color: #0072B2; }
  label { display: block; max-width: 40rem; }
  textarea { display: block; width: 100%; padding: 0.3em; margin-bottom: 0.4em; field-sizing: content; }
  .row { display: flex; flex-wrap: wrap; gap: 0.4rem 1.4rem; align-items: flex-start; }
  .scroll { overflow-x: auto; max-width: 100%; }
  .pass, .token { display: inline-block; border: 1px solid #808080; border-radius: 4px; padding: 0 0.4em; margin: 2px; }
  .on { outline: 2px solid #D55E00; font-weight: bold; }
  .done { background: #0072B240; }
  .hidden { background: #D55E0040; font-weight: bold; }
  table { border-collapse: separate; border-spacing: 2px; }
  td { min-width: 3.8em; padding: 0 4px; text-align: right; white-space: nowrap; border-radius: 2px; }
  th { font-weight: normal; text-align: left; padding: 0 6px 0 0; }
  th[scope=col] { text-align: right; padding: 0 4px 0 1em; }
  .bar { display: block; height: 0.9em; background: #0072B2; border-radius: 2px; }`;
const PAUSE = 900; // milliseconds of a step

function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function button(text, press) {
  const element = make("button", { type: "button" }, text);
  element.addEventListener("click", press);
  return element;
}

// Numbers as text; what rounding leaves of zero is 0.
function written(x, digits) {
  return (Math.abs(x) < 0.5 * 10 ** -digits ? 0 : x).toFixed(digits).replace("-", "−");
}

function colour(x, full) {
  return `rgba(${x > 0 ? "0, 114, 178" : "213, 94, 0"}, ${0.55 * Math.min(Math.abs(x) / (full || 1), 1)})`;
}

function table(title, matrix, full) {
  const cells = (row) => row.map((x) => {
    const cell = make("td", {}, written(x, 3));
    cell.style.background = colour(x, full);
    return cell;
  });
  const rows = matrix.map((row) => make("tr", {}, ...cells(row)));
  return make("div", {}, make("p", {}, title), make("table", { "aria-label": title }, ...rows));
}

// Buttons of which one is pressed: state[name] is its option.
function choices(title, name, options, state, change) {
  const buttons = options.map((option) => button(`${option}`, () => change({ [name]: option })));
  const mark = () => buttons.forEach((one, i) => one.setAttribute("aria-pressed", options[i] === state[name]));
  const group = { class: "choices", role: "group", "aria-label": title };
  return { element: make("div", group, make("span", {}, title), ...buttons), mark };
}

// state.step, from 0 to last(state): a slider, and a button that plays.
function player(last, state, change) {
  const slider = make("input", { type: "range", min: 0, "aria-label": "step" });
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "play";
  };
  const next = () => {
    if (!slider.isConnected || state.step >= last(state)) stop();
    else change({ step: state.step + 1 });
  };
  const play = button("play", () => {
    if (timer) return stop();
    if (state.step >= last(state)) change({ step: 0 });
    timer = setInterval(next, PAUSE);
    play.textContent = "stop";
  });
  slider.addEventListener("input", () => change({ step: slider.valueAsNumber }));
  const mark = () => {
    slider.max = last(state);
    slider.value = state.step;
  };
  const back = button("back", () => change({ step: Math.max(state.step - 1, 0) }));
  return { element: make("div", { class: "choices" }, back, button("next", next), play, slider), mark };
}

function mount(id, data) {
  const root = [...document.querySelectorAll(`[id="${id}"]`)].find((element) => !element.shadowRoot);
  if (!root) return;
  const state = first(data), stage = make("div", { class: "stage", "aria-live": "polite" });
  const change = (part) => {
    Object.assign(state, part);
    used.forEach((control) => control.mark());
    stage.replaceChildren(...shown(state));
  };
  const used = controls(state, change);
  root.attachShadow({ mode: "open" }).append(make("style", {}, STYLE), ...used.map((one) => one.element), stage);
  change({});
}
