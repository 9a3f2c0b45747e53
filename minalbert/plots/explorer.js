// Attention, forward and back, to click through. No library, nothing fetched: explorer.py wraps this file into a
// function that ends with mount(id, data). The formulas and names are those of minalbert/layers/attention.py.

// ---- Mathematics. A matrix is an array of rows; mask is one number for each key. ----

const MASKED = -10000;
const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const dot = (a, b) => sum(a.map((x, i) => x * b[i]));
const column = (a, j) => a.map((row) => row[j]);
const transposed = (a) => a[0].map((_, j) => column(a, j));
const times = (a, b) => a.map((row) => b.map((other) => dot(row, other))); // a bᵀ
const product = (a, b) => times(a, transposed(b));
const scaled = (a, factor) => a.map((row) => row.map((x) => x * factor));

function softmax(row) {
  const largest = Math.max(...row);
  const powers = row.map((x) => Math.exp(x - largest)), total = sum(powers);
  return powers.map((x) => x / total);
}

function forward(q, k, v, mask) {
  const scores = times(q, k).map((row) => row.map((x, j) => x / Math.sqrt(q[0].length) + mask[j]));
  const probs = scores.map(softmax);
  const context = product(probs, v);
  return { scores, probs, context };
}

function backward(dcontext, q, k, v, probs) {
  const dv = product(transposed(probs), dcontext); // forward: context = probs v
  const dprobs = times(dcontext, v);
  const dscores = dprobs.map((row, i) => { // forward: probs = softmax(scores)
    const mean = dot(row, probs[i]);
    return row.map((x, j) => probs[i][j] * (x - mean));
  });
  const root = 1 / Math.sqrt(q[0].length);
  const dq = scaled(product(dscores, k), root); // forward: scores = q kᵀ / √D
  const dk = scaled(product(transposed(dscores), q), root);
  return { dprobs, dscores, dq, dk, dv };
}

// All matrices of one head by their names.
function walk({ q, k, v, dcontext }, mask) {
  const there = forward(q, k, v, mask);
  return { q, k, v, dcontext, ...there, ...backward(dcontext, q, k, v, there.probs) };
}

const loss = (heads, mask) => sum(heads.map(({ q, k, v, dcontext }) =>
  sum(forward(q, k, v, mask).context.map((row, i) => dot(row, dcontext[i])))));

// The heads with one entry of one of them moved; those given stay as they are.
function moved(heads, head, { name, row, column }, step) {
  return heads.map((tensors, n) => n !== head ? tensors : { ...tensors, [name]: tensors[name].map((numbers, i) =>
    i !== row ? numbers : numbers.map((x, j) => j !== column ? x : x + step)) });
}

function central(heads, head, entry, mask, epsilon) {
  const above = loss(moved(heads, head, entry, epsilon), mask);
  const below = loss(moved(heads, head, entry, -epsilon), mask);
  return { above, below, slope: (above - below) / (2 * epsilon) };
}

// ---- Words: how a cell comes about. ----

const NOTES = {
  q: "what each token asks for", k: "what each token offers", v: "what each token gives",
  scores: "q kᵀ / √D + mask", probs: "softmax(scores), row by row", context: "probs v",
  dcontext: "how the loss changes with context", dprobs: "dcontext vᵀ",
  dscores: "probs (dprobs − Σⱼ dprobsⱼ probsⱼ)", dq: "dscores k / √D", dk: "dscoresᵀ q / √D", dv: "probsᵀ dcontext",
};
const FORWARD = ["q", "k", "v", "scores", "probs", "context"], BACKWARD = FORWARD.map((name) => `d${name}`);
const square = (name) => /scores|probs/.test(name);

function written(x, digits) {
  const size = Math.abs(x) < 1e-12 ? 0 : Math.abs(x); // what rounding leaves of zero
  const tiny = size && size < 0.5 * 10 ** -digits;
  const text = tiny ? size.toExponential(1) : size.toFixed(size < 1000 ? digits : 1);
  return (size && x < 0 ? "−" : "") + text.replace("-", "−");
}

const factor = (x, digits = 3) => x < 0 ? `(${written(x, digits)})` : written(x, digits);
const LONGEST = 8; // terms that are written out
const DIGITS = 14; // of the loss, where a difference is taken: the last are rounding

function total(terms) {
  const rest = terms.length - LONGEST;
  return rest > 0 ? `${terms.slice(0, LONGEST).join(" + ")} + … ${rest} more` : terms.join(" + ");
}

const products = (a, b) => total(a.map((x, i) => `${factor(x)}×${factor(b[i])}`));

// { symbols, numbers, from }: the formula of entry (i, j), and the parts it reads as [matrix, row, column], null: all.
function explain(name, i, j, m, tokens, mask) {
  const D = m.q[0].length;
  const here = `${name}[${tokens[i]}, ${square(name) ? tokens[j] : j + 1}]`;
  const powers = m.scores[i].map((x) => `e^(${written(x, 3)} − ${factor(Math.max(...m.scores[i]))})`);
  const made = (formula, numbers, ...from) => ({ symbols: `${here} = ${formula}`, numbers, from });
  switch (name) {
    case "scores": return made("Σ q k / √D + mask",
      `(${products(m.q[i], m.k[j])}) / √${D} + ${mask[j] ? "(−10000)" : 0}`, ["q", i, null], ["k", j, null]);
    case "probs": return made("e^(score − largest) / Σ e^(scores − largest)",
      `${powers[j]} / (${total(powers)})`, ["scores", i, null]);
    case "context": return made("Σ probs v", products(m.probs[i], column(m.v, j)), ["probs", i, null], ["v", null, j]);
    case "dv": return made("Σ probs dcontext",
      products(column(m.probs, i), column(m.dcontext, j)), ["probs", null, i], ["dcontext", null, j]);
    case "dprobs": return made("Σ dcontext v", products(m.dcontext[i], m.v[j]), ["dcontext", i, null], ["v", j, null]);
    case "dscores": return made("probs × (dprobs − Σ dprobs probs)",
      `${factor(m.probs[i][j])}×(${written(m.dprobs[i][j], 3)} − (${products(m.dprobs[i], m.probs[i])}))`,
      ["probs", i, null], ["dprobs", i, null]);
    case "dq": return made("Σ dscores k / √D",
      `(${products(m.dscores[i], column(m.k, j))}) / √${D}`, ["dscores", i, null], ["k", null, j]);
    case "dk": return made("Σ dscores q / √D",
      `(${products(column(m.dscores, i), column(m.q, j))}) / √${D}`, ["dscores", null, i], ["q", null, j]);
    default: return made(name === "dcontext" ? "given by what reads the context" : "given; move it below", "");
  }
}

function parts(from, tokens) {
  const part = ([name, i, j]) => i !== null ? `row “${tokens[i]}” of ${name}` :
    `column “${square(name) ? tokens[j] : j + 1}” of ${name}`;
  return from.length ? `Made of ${from.map(part).join(" and ")}: outlined above.` : "";
}

// Tokens that occur more than once get their places: the₁, the₅.
function told(tokens) {
  const place = (i) => String(i + 1).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);
  return tokens.map((token, i) => tokens.indexOf(token) === tokens.lastIndexOf(token) ? token : token + place(i));
}

// ---- The page. Half-transparent colours over whatever ground there is; a shadow root keeps styles apart. ----

const STYLE = `
  :host { display: block; font-size: 0.9rem; line-height: 1.5; }
  * { box-sizing: border-box; }
  code, table, .walk, .lines, output { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
  p { margin: 0.4rem 0; }
  button { font: inherit; color: inherit; background: none; border: 1px solid #808080; border-radius: 4px;
    min-width: 30px; min-height: 28px; max-width: 100%; padding: 0 0.5em; cursor: pointer; overflow-wrap: anywhere; }
  button:hover { background: #80808030; }
  button[aria-pressed=true] { background: #0072B2; color: white; border-color: #0072B2; font-weight: bold; }
  :focus-visible { outline: 3px solid #D55E00; outline-offset: 1px; }
  .choices { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin: 0.5rem 0; }
  .choices > span { min-width: 4.5em; }
  .told span { min-width: 1em; }
  .walk { display: grid; grid-template-columns: repeat(6, minmax(0, 1fr)); gap: 4px; max-width: 40rem; }
  .walk > p { grid-column: 1 / -1; margin: 0.2rem 0 0; font: inherit; font-size: 0.8rem; }
  .walk > button { display: flex; flex-direction: column; align-items: center; justify-content: space-between;
    gap: 3px; padding: 5px 0 2px; font-size: min(0.8rem, 2.6vw); min-width: 0; }
  .walk > button[aria-pressed=true] { background: #0072B226; color: inherit; box-shadow: 0 0 0 1px #0072B2; }
  .small { position: relative; display: block; outline: 1px solid #80808080; }
  .small canvas { display: block; width: 100%; height: 100%; image-rendering: pixelated; }
  .small i { position: absolute; border: 2px solid; border-radius: 2px; margin: -2px; box-sizing: content-box; }
  .work { display: flex; flex-wrap: wrap; gap: 0.4rem 1.6rem; align-items: flex-start; margin-top: 0.8rem; }
  .work > div { min-width: 0; max-width: 100%; }
  .told { flex: 1 1 20rem; }
  .scroll { overflow-x: auto; max-width: 100%; padding: 3px; }
  table { border-collapse: separate; border-spacing: 2px; font-size: 0.8rem; }
  th { font-weight: normal; padding: 0 5px; white-space: pre; }
  th[scope=row] { text-align: right; }
  .padding { text-decoration: line-through; }
  td { min-width: 3.5em; height: 28px; padding: 0 4px; text-align: right; cursor: pointer; border-radius: 2px; }
  td[aria-selected=true] { outline: 2px solid; outline-offset: -1px; font-weight: bold; }
  td:focus-visible { outline: 3px solid #D55E00; outline-offset: 0; }
  .lines { font-size: 0.8rem; overflow-wrap: anywhere; white-space: pre-wrap; }
  .result { font-weight: bold; }
  input { flex: 1 1 8rem; min-width: 6rem; max-width: 18rem; height: 28px; margin: 0; accent-color: #0072B2; }
  .heading { margin: 1rem 0 0.2rem; font-weight: bold; }
  .heading:first-child { margin-top: 0.4rem; }`;
const EPSILONS = [["1", 1], ["0.1", 0.1], ["10⁻³", 1e-3], ["10⁻⁵", 1e-5], ["10⁻⁸", 1e-8], ["10⁻¹²", 1e-12]];
const STEP = 0.1, REACH = 3, SMALL = 44; // the slider's, and pixels of a small matrix's longer side

function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function button(text, press, label) {
  const element = make("button", { type: "button", ...(label && { "aria-label": label }) }, text);
  element.addEventListener("click", press);
  return element;
}

// A row of buttons; `mark` tells each whether it is pressed.
function choices(name, options, press) {
  const buttons = options.map(([text, label], i) => button(text, () => press(i), label));
  const group = { class: "choices", role: "group", "aria-label": name };
  const element = make("div", group, make("span", {}, name), ...buttons);
  return { element, mark: (on) => buttons.forEach((one, i) => one.setAttribute("aria-pressed", on(i))) };
}

// The value at which the colour is full; masked scores would make all others pale.
function largest(name, matrix) {
  const most = Math.max(0, ...matrix.flat().map(Math.abs).filter((x) => x < -MASKED / 2));
  return name === "probs" || most < 1e-12 ? 1 : most;
}

// `most` is how dense it gets: under text not quite.
function colour(x, full, most) {
  const strength = most * Math.min(Math.abs(x) / full, 1);
  return `rgba(${x > 0 ? "0, 114, 178" : "213, 94, 0"}, ${strength})`;
}

// A matrix as a picture, a pixel for each entry, with boxes around [row, column] parts; null: all.
function small(name, matrix, boxes) {
  const rows = matrix.length, columns = matrix[0].length, pixel = SMALL / Math.max(rows, columns);
  const canvas = make("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const paint = canvas.getContext("2d"), full = largest(name, matrix);
  matrix.forEach((row, i) => row.forEach((x, j) => {
    paint.fillStyle = colour(x, full, 0.9);
    paint.fillRect(j, i, 1, 1);
  }));
  const picture = make("span", { class: "small" }, canvas);
  Object.assign(picture.style, { width: `${columns * pixel}px`, height: `${rows * pixel}px` });
  for (const [i, j] of boxes) {
    const box = picture.appendChild(make("i", {}));
    const percent = (part, all) => `${(100 * part) / all}%`;
    Object.assign(box.style, { left: percent(j ?? 0, columns), width: percent(j === null ? columns : 1, columns),
      top: percent(i ?? 0, rows), height: percent(i === null ? rows : 1, rows) });
  }
  return picture;
}

// What a click changes of the state.

function selected(state, matrix, row, column) {
  const name = matrix.replace(/^d(?=[qkv]$)/, ""); // of dq's entry, q's is moved
  const last = (square(matrix) ? state.names : state.heads[0].q[0]).length - 1;
  const place = { row: Math.min(row, state.names.length - 1), column: Math.min(column, last) };
  return { matrix, ...place, ...(/^[qkv]$/.test(name) && { entry: { name, ...place } }) };
}

function set({ heads, head, entry }, value) {
  return { heads: moved(heads, head, entry, value - heads[head][entry.name][entry.row][entry.column]) };
}

const toggled = ({ mask }, token) => ({ mask: mask.map((x, j) => j !== token ? x : x ? 0 : MASKED) });

// What the state looks like.

function drawMap({ matrices }, state, m, from) {
  for (const [name, element] of Object.entries(matrices)) {
    const boxes = from.filter((part) => part[0] === name).map(([, i, j]) => [i, j]);
    if (name === state.matrix) boxes.push([state.row, state.column]);
    element.replaceChildren(small(name, m[name], boxes), name);
    element.setAttribute("aria-pressed", name === state.matrix);
  }
}

function drawTable({ title, table, scale }, { matrix: name, row, column, names, mask, head }, numbers) {
  const full = largest(name, numbers);
  const heading = (j, scope) => make("th", { scope, class: mask[j] ? "padding" : "" }, names[j]);
  const heads = numbers[0].map((_, j) => square(name) ? heading(j, "col") : make("th", { scope: "col" }, `${j + 1}`));
  const body = numbers.map((line, i) => make("tr", {}, heading(i, "row"), ...line.map((x, j) => {
    const here = i === row && j === column;
    const cell = make("td", { role: "gridcell", tabindex: here ? 0 : -1, "aria-selected": here,
      "data-row": i, "data-column": j }, written(Math.abs(x) < 0.005 ? 0 : x, 2));
    cell.style.background = colour(x, full, 0.55);
    return cell;
  })));
  table.replaceChildren(make("thead", {}, make("tr", {}, make("td", {}), ...heads)), make("tbody", {}, ...body));
  table.setAttribute("aria-label", `${name} of head ${head + 1}`);
  title.replaceChildren(make("code", { class: "result" }, name), ` ${NOTES[name]}`);
  scale.textContent = (square(name) ? "A row for each query, a column for each key. " : "") +
    (name === "probs" ? "Full blue is 1." : `Blue above zero, orange below; full at ${written(full, 2)}.`);
}

function drawCheck({ slider, moving, check }, { heads, head, mask, entry, epsilon, first, names }, gradient) {
  const { name, row, column } = entry, label = `${name}[${names[row]}, ${column + 1}]`;
  const now = heads[head][name][row][column], given = first.heads[head][name][row][column];
  const [text, step] = EPSILONS[epsilon];
  const { above, below, slope } = central(heads, head, entry, mask, step);
  const ours = gradient[row][column], bold = (name, x, digits) => make("b", { class: name }, written(x, digits));
  Object.assign(slider, { min: given - REACH, max: given + REACH, value: now });
  slider.setAttribute("aria-label", label);
  moving.replaceChildren("Move an entry of q, k or v: ", make("output", {}, `${label} = ${written(now, 2)}`));
  check.replaceChildren("loss f = Σ dcontext · context, all heads = ", bold("loss", loss(heads, mask), 6),
    ` (at first ${written(loss(first.heads, first.mask), 6)})\n\n`,
    `Its slope, by moving ${name} by ε = ${text} both ways:\n(f(${name} + ε) − f(${name} − ε)) / 2ε\n`,
    `= (${written(above, DIGITS)} − ${factor(below, DIGITS)}) / ${2 * step}\n= `, bold("central", slope, 8),
    `\n\nIts slope, by the formulas, is d${label}:\n= `, bold("analytic", ours, 8),
    `\n\nThey differ by ${written(Math.abs(slope - ours), 2)}.`);
}

function draw(view, state) {
  const m = walk(state.heads[state.head], state.mask), { matrix, row, column, names, mask } = state;
  const { symbols, numbers, from } = explain(matrix, row, column, m, names, mask);
  view.heads.mark((n) => n === state.head);
  view.padding.mark((j) => mask[j] !== 0);
  view.epsilons.mark((n) => n === state.epsilon);
  drawMap(view, state, m, from);
  drawTable(view, state, m[matrix]);
  view.formula.replaceChildren(`${symbols}\n${numbers && `= ${numbers}\n`}= `,
    make("span", { class: "result" }, written(m[matrix][row][column], 4)), `\n\n${parts(from, names)}`);
  drawCheck(view, state, m[`d${state.entry.name}`]);
}

// The elements that stay, and what a click on them does.

function build(state, change) {
  const select = (name) => () => change(selected(state, name, state.row, state.column));
  const open = (name) => button("", select(name), `${name}: ${NOTES[name]}`);
  return {
    heads: choices("head", state.heads.map((_, n) => [`${n + 1}`, `head ${n + 1}`]), (head) => change({ head })),
    padding: choices("padding", state.names.map((name) => [name]), (token) => change(toggled(state, token))),
    epsilons: choices("ε", EPSILONS.map(([text]) => [text, `ε = ${text}`]), (epsilon) => change({ epsilon })),
    matrices: Object.fromEntries([...FORWARD, ...BACKWARD].map((name) => [name, open(name)])),
    table: make("table", { role: "grid" }), title: make("p", {}), scale: make("p", {}),
    formula: make("div", { class: "lines", "aria-live": "polite" }), check: make("div", { class: "lines" }),
    slider: make("input", { type: "range", step: STEP }), moving: make("p", { class: "heading" }),
  };
}

function listen({ table, slider }, state, change) {
  function visit(row, column) {
    change(selected(state, state.matrix, Math.max(row, 0), Math.max(column, 0)));
    table.querySelector("[aria-selected=true]").focus();
  }

  slider.addEventListener("input", () => change(set(state, slider.valueAsNumber)));
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("[role=gridcell]");
    if (cell) visit(Number(cell.dataset.row), Number(cell.dataset.column));
  });
  table.addEventListener("keydown", (event) => {
    const { row: i, column: j } = state;
    const target = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
      Home: [i, 0], End: [i, Infinity] }[event.key];
    if (!target) return;
    event.preventDefault();
    event.stopPropagation(); // notebooks move from cell to cell with arrows
    visit(...target);
  });
}

function mount(id, data) {
  const root = [...document.querySelectorAll(`[id="${id}"]`)].find((element) => !element.shadowRoot);
  if (!root) return;
  const first = { heads: data.heads, mask: data.mask };
  const state = { ...first, first, names: told(data.tokens), head: 0, matrix: "probs", row: 0, column: 0, epsilon: 2,
    entry: { name: "q", row: 0, column: 0 } };
  const change = (part) => draw(view, Object.assign(state, part));
  const view = build(state, change);
  const push = (steps) => {
    view.slider.stepUp(steps);
    change(set(state, view.slider.valueAsNumber));
  };
  const block = (name, ...children) => make("div", { class: name }, ...children);
  const shown = (names) => names.map((name) => view.matrices[name]);
  const heading = (text) => make("p", { class: "heading" }, text);

  listen(view, state, change);
  root.attachShadow({ mode: "open" }).append(
    make("style", {}, STYLE), ...(data.heads.length > 1 ? [view.heads.element] : []), view.padding.element,
    block("walk", make("p", {}, "forward →"), ...shown(FORWARD), ...shown(BACKWARD), make("p", {}, "← backward")),
    block("work",
      block("", view.title, block("scroll", view.table), view.scale),
      block("told", heading("Where the cell comes from"), view.formula, view.moving,
        block("choices", button("−", () => push(-1), "less"), view.slider,
          button("+", () => push(1), "more"), button("reset", () => change(first))),
        view.epsilons.element, view.check)));
  draw(view, state);
}

if (typeof module !== "undefined") module.exports = { walk, loss, central, explain, told }; // for node
