// The steps of LAMB and of AdamW on tensors of different size: minalbert/optim. A tensor is a list of numbers.

// ---- Mathematics ----

const BETA1 = 0.9, BETA2 = 0.999, EPSILON = 1e-6, DECAY = 0.01;
const norm = (a) => Math.sqrt(a.reduce((total, x) => total + x * x, 0));

// One step. optimiser: "LAMB" as ALBERT has it, or "AdamW" with its bias correction.
function stepped({ w, m, v, t }, gradient, rate, optimiser) {
  t += 1;
  m = m.map((x, i) => BETA1 * x + (1 - BETA1) * gradient[i]);
  v = v.map((x, i) => BETA2 * x + (1 - BETA2) * gradient[i] ** 2);
  const corrected = optimiser === "AdamW";
  const c1 = corrected ? 1 / (1 - BETA1 ** t) : 1, c2 = corrected ? 1 / Math.sqrt(1 - BETA2 ** t) : 1;
  const u = m.map((x, i) => x * c1 / (Math.sqrt(v[i]) * c2 + EPSILON) + DECAY * w[i]);
  const r = !corrected && norm(w) > 0 && norm(u) > 0 ? norm(w) / norm(u) : 1;
  return { w: w.map((x, i) => x - rate * r * u[i]), m, v, t, r, change: rate * r * norm(u) / norm(w) };
}

// The states before the first step and after each.
function run(w, gradients, rate, factor, optimiser) {
  const zeros = w.map(() => 0), states = [{ w, m: zeros, v: zeros, t: 0, r: 1, change: 0 }];
  for (const gradient of gradients) {
    states.push(stepped(states[states.length - 1], gradient.map((g) => factor * g), rate, optimiser));
  }
  return states;
}

// ---- The page ----

const first = ({ tensors }) => ({ tensors, rate: 0.01, factor: 1, step: 0 });

function controls(state, change) {
  return [choices("rate", "rate", [0.001, 0.01, 0.1], state, change),
    choices("gradients ×", "factor", [0.01, 1, 100], state, change),
    player((now) => now.tensors[0].gradients.length, state, change)];
}

function shown({ tensors, rate, factor, step }) {
  const rows = tensors.flatMap(({ name, w, gradients }) => ["LAMB", "AdamW"].map((optimiser, i) => {
    const names = i ? [] : [make("th", { scope: "rowgroup", rowspan: 2 }, name)];
    const states = run(w, gradients, rate, factor, optimiser), now = states[step];
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.min(100 * now.change, 100) / 8}rem`;
    return make("tr", {}, ...names, make("th", { scope: "row" }, optimiser),
      make("td", { class: "change" }, `${written(100 * now.change, 2)} %`),
      make("td", { class: "ratio" }, optimiser === "LAMB" && step ? written(now.r, 4) : "–"),
      make("td", { class: "norm" }, written(norm(now.w), 3)), make("td", {}, bar));
  }));
  const names = ["", "", "‖Δw‖ / ‖w‖", "trust ratio", "‖w‖"].map((name) => make("th", { scope: "col" }, name));
  return [make("p", { class: "told" }, step ? `After step ${step}.` : "Before the first step."),
    make("div", { class: "scroll" }, make("table", {}, make("tr", {}, ...names), ...rows))];
}

if (typeof module !== "undefined") module.exports = { run }; // for node
