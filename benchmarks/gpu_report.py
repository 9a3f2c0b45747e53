"""The report: what was measured, beside what had been predicted before any card was at hand, and the goals."""

from gpu_ceilings import KINDS
from gpu_steps import BF16, GRAPH, PLAIN, TF32

# Milliseconds, from a table of rates, for 256 × 128 and 64 × 512 (believed to 15 %); other sizes by their tokens.
# TF32 was predicted without fused attention, bf16 with it, a graph not at all: it saves the host's time alone.
PREDICTED = {
    # side: (256 × 128, 64 × 512)
    PLAIN: (473, 577),
    TF32: (84, 139),
    BF16: (36.4, 49.5),
    "PyTorch eager, bf16": (45, 52),
    "torch.compile, bf16": (36, 43),
}
EAGER, COMPILED, SHARE = 1.2, 1.0, 0.45  # the goals
GOAL_CASE = 256, 128
EXPLAINED = (
    "sequences × tokens. host: until all is asked for; one that is as long as the step itself may have waited for a",
    "place in the queue. memory: the most that a side held of its own. rate: matrix products' operations over the",
    "time, as a share of the bf16 product above; ours computes the last layer only where a loss reads it, and the rest",
    "is not counted. PyTorch's optimiser is AdamW, ours LAMB.",
)


def predicted(side, size, length):
    """None where nothing was."""
    if side not in PREDICTED or length not in (128, 512):
        return None
    return PREDICTED[side][length == 512] * size * length / 32768


def goals(steps):
    """[(goal, found, met)]: found and met are None where a side is missing."""
    rows = []
    for (size, length), sides in steps.items():
        ours = [sides[name]["milliseconds"] for name in (BF16, GRAPH) if isinstance(sides.get(name), dict)]
        for peer, least in (("PyTorch eager, bf16", EAGER), ("torch.compile, bf16", COMPILED)):
            there = ours and isinstance(sides.get(peer), dict)
            ratio = sides[peer]["milliseconds"] / min(ours) if there else None
            rows.append((f"{size} × {length}: at least {least} times as fast as {peer}", ratio, least))
        if (size, length) == GOAL_CASE:
            shares = [sides[name]["share"] for name in (BF16, GRAPH) if isinstance(sides.get(name), dict)]
            goal = f"{size} × {length}: at least {SHARE:.0%} of the bf16 rate measured"
            rows.append((goal, max(shares, default=None), SHARE))
    return [(goal, found, None if found is None else found >= least) for goal, found, least in rows]


def table(head, rows):
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def text(found, sizes, title):
    """found: {"versions", "tests", "gradients", "rates", "products", "steps"}, those that were measured."""
    lines = [f"# {title}", "", *table(["", ""], found["versions"].items()), "", "## Are the results right?", ""]
    lines += table(["tests", "", ""], [(command, said, "passed" if code == 0 else f"**exit code {code}**")
                                       for command, said, code in found["tests"]])  # fmt: skip
    lines += ["", "A step's gradient against the plain model in float64 on the CPU:", ""]
    lines += table(["precision", "relative error", "allowed", ""],
                   [(name, f"{error:.1e}", f"{most:.0e}", "passed" if error <= most else "**wrong**")
                    for name, error, most in found["gradients"]])  # fmt: skip
    if "steps" not in found:
        return "\n".join([*lines, "", "Nothing was timed: the results are not right.", ""])
    rates = found["rates"]
    lines += ["", "## What the card can do", "", f"A copy of {sizes.copied:,} bytes: {rates['copy'] / 1e12:.2f} "
              f"TB/s, read and written. A product of {sizes.square}³: "
              + ", ".join(f"{rates[kind] / 1e12:.0f} TFLOP/s in {kind}" for kind in KINDS) + "."]  # fmt: skip
    lines += ["", f"## A step of ALBERT: medians of {sizes.runs} after {sizes.warm}", "", *EXPLAINED]
    for (size, length), sides in found["steps"].items():
        lines += ["", f"### {size} × {length}", ""]
        lines += table(["", "ms", "predicted", "tokens/s", "host ms", "memory, GB", "rate"],
                       [step_row(name, side, size, length) for name, side in sides.items()])  # fmt: skip
    lines += ["", "## Goals", ""]
    words = {None: "not measured", True: "met", False: "**not met**"}
    lines += table(["", "", ""], [(goal, "" if number is None else f"{number:.2f}", words[met])
                                  for goal, number, met in goals(found["steps"])])  # fmt: skip
    lines += ["", "## Matrix products", "", "TFLOP/s."]
    for rows, products in found["products"].items():
        columns = list(next(iter(products.values())))
        lines += ["", f"### {rows:,} tokens", "", *table(
            ["", *columns],
            [(name, *(f"{of[kind] / 1e12:.0f}" for kind in columns)) for name, of in products.items()],
        )]  # fmt: skip
    return "\n".join([*lines, ""])


def step_row(name, side, size, length):
    if isinstance(side, str):
        return name, side, "", "", "", "", ""
    before = predicted(name, size, length)
    return (name, f"{side['milliseconds']:.2f}", f"{before:.1f}" if before else "",
            f"{size * length / side['milliseconds'] * 1000:,.0f}", f"{side['host']:.2f}", f"{side['bytes'] / 1e9:.1f}",
            f"{side['share']:.1%}")  # fmt: skip
