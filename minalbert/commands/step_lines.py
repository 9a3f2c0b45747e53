"""The step-time model of `analysis.step_time` as text: at most 100 columns."""


def step_times(found):
    machines = found["machines"]
    yield (f"{machines['ranks']} machines share a batch of {found['batch']:,} × {found['length']} tokens. "
           f"Each sends {8e-9 * machines['bandwidth']:,.4g} Gbit/s")  # fmt: skip
    yield f"and computes {1e-9 * machines['rate']:,.0f} GFLOP/s ({found['rate_from']})."
    yield ""
    yield (f"{'':19}{'MB sent':>9}{'moments':>9}{'computing':>11}{'sending':>10}{'updating':>10}{'step':>10}"
           f"{'speed':>8}{'paper':>7}{'left':>7}")  # fmt: skip
    for name, row in found["models"].items():
        speed = f"{row['speed']:,.{2 if row['speed'] < 100 else 0}f}×"
        paper, left = ("" if row[key] is None else f"{row[key]:.{digits}f}×"
                       for key, digits in (("paper", 1), ("unexplained", 2)))  # fmt: skip
        yield (
            f"{name:19}{1e-6 * row['sent_bytes']:9,.0f}{1e-6 * row['moment_bytes']:9,.0f}"
            f"{seconds(row['computing']):>11}{seconds(row['sending']):>10}{seconds(row['updating']):>10}"
            f"{seconds(row['total']):>10}{speed:>8}{paper:>7}{left:>7}"
        ).rstrip()
    yield ""
    yield "MB sent: by each, 2 (N - 1) / N of its gradients in float32. Speed: BERT-large's step / this one."
    yield "Moments: MB of both, on the machine that has most of them; each has those of some whole tensors."
    yield "Paper: its table 2. Left: the paper's speed / the model's, which three terms do not explain."
    if not machines["memory"]:
        yield "Updating is left out: --memory says how many bytes a second a machine's memory reads and writes."


def seconds(value):
    if value and value < 1:
        return f"{1e3 * value:,.3g} ms"
    return f"{value:,.3g} s" if value < 1000 else f"{value:,.0f} s"
