// One block applied L times, forward and back: x ← x + tanh(x w), and the gradient of the one w that all passes share.

// ---- Mathematics. A matrix is an array of rows. ----

const transposed = (a) => a[0].map((_, j) => a.map((row) => row[j]));
const product = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((total, x, k) => total + x * b[k][j], 0)));
const each = (f, a, b) => a.map((row, i) => row.map((x, j) => f(x, b?.[i][j])));
const plus = (a, b) => each((x, y) => x + y, a, b);

// { xs, parts, sums }: what each pass reads, its part of the gradient, and the sum from the last pass down to it.
function passes(x, w, dy, L) {
  const xs = [x], hs = [];
  for (let pass = 0; pass < L; pass++) {
    hs.push(each(Math.tanh, product(xs[pass], w)));
    xs.push(plus(xs[pass], hs[pass]));
  }
  const parts = [], sums = [];
  let dx = dy, sum = each(() => 0, w);
  for (let pass = L - 1; pass >= 0; pass--) {
    const da = each((d, h) => d * (1 - h * h), dx, hs[pass]); // forward: h = tanh(x w)
    parts[pass] = product(transposed(xs[pass]), da);
    sums[pass] = sum = plus(sum, parts[pass]);
    dx = plus(dx, product(da, transposed(w))); // forward: x ← x + h
  }
  return { xs, parts, sums, dx };
}

const size = (a) => Math.sqrt(a.flat().reduce((total, x) => total + x * x, 0));

// ---- The page. Steps 1 to L are the passes forward, L + 1 to 2 L those back. ----

const first = ({ x, w, dy, L }) => ({ x, w, dy, L, step: 0 });

function controls(state, change) {
  const layers = choices("layers", "L", [1, 2, 4, 6, 12], state, (part) => change({ ...part, step: 0 }));
  return [layers, player((now) => 2 * now.L, state, change)];
}

function shown({ x, w, dy, L, step }) {
  const { xs, parts, sums } = passes(x, w, dy, L), back = step > L, pass = back ? 2 * L - step : step - 1;
  const done = (n) => back ? n >= pass : n <= pass;
  const boxes = [...Array(L)].map((_, n) =>
    make("span", { class: `pass ${done(n) && step ? "done" : ""} ${n === pass ? "on" : ""}` }, `${n + 1}`));
  const line = make("p", {}, back ? "backward ← " : "forward → ", ...boxes);
  const full = Math.max(...sums[0].flat().map(Math.abs)), none = each(() => 0, w);
  const told = !step ? "Before the first pass. All passes have the same w." :
    back ? `Back through pass ${pass + 1}: its part of dw has norm ${written(size(parts[pass]), 3)}, the sum so far ` +
      `${written(size(sums[pass]), 3)}.` :
      `Pass ${pass + 1}: x ← x + tanh(x w). The norm of x is now ${written(size(xs[pass + 1]), 3)}.`;
  const tables = [table("w", w, 1), table("part of this pass", back ? parts[pass] : none, full),
    table("sum: dw", back ? sums[pass] : none, full)];
  return [line, make("p", { class: "told" }, told), make("div", { class: "row scroll" }, ...tables)];
}

if (typeof module !== "undefined") module.exports = { passes }; // for node
