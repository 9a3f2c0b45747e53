"""`minalbert bench`: which kernels and which precision are fast on this machine? One table, in less than a minute.

All ways to compute take turns, so that a busy machine slows all of them; a time is the median over the turns. How many
turns there are depends on the time they take: each column has its share of SECONDS, and one turn at least. The first
is not counted if others follow: it touches fresh memory, and may compile loops.
"""

import platform
import statistics
import textwrap
import time
import warnings

from .. import PRESETS, Albert, Batch
from ..analysis.cost import training_operations, unread_operations
from ..capacity import cores
from ..errors import SlowWarning
from ..fused import optimiser_for
from ..kernels import missing
from ..kernels.cpu.rates import product_rate
from ..optim import Lamb, Moments
from .printing import print_result

SECONDS = 32
TURNS = 25                                           # at most
WAYS = [("plain", "full"), ("fused", "full"), ("compiled", "full"), ("fused", "bf16"), ("compiled", "bf16")]
SIZES = {
    # name: (preset, texts, length, share of the seconds: for steps, for encodings)
    "tiny, 32 × 32": ("tiny", 32, 32, 0.1, 0.05),
    "ALBERT-base, 2 × 32": ("albert-base-v2", 2, 32, 0.6, 0.25),
}
FEW = 3                                              # turns that say little
AS_GOOD = 1.05                                       # times the best: simpler kernels and more bits are preferred then


def add_arguments(parser):
    parser.description = ("Time a training step and an encoding with all kernels and precisions that this machine "
                          "has, in less than a minute, and recommend one.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)                         # the table says it
        result = measure()
    print_result(options, result, lines(result))
    return 0


def measure():
    reasons = {way: missing(*way, "cpu") for way in WAYS}
    usable = [way for way in WAYS if reasons[way] is None]
    precisions = [precision for precision in ("full", "bf16") if any(precision in way for way in usable)]
    rates = {precision: product_rate(precision, size=2048, times=2) for precision in precisions}
    begin, spent, times, fewest = time.perf_counter(), 0.0, {way: {} for way in usable}, TURNS
    for size, (preset, texts, length, *shares) in SIZES.items():
        for task, share in zip(("step", "encoding"), shares, strict=True):
            spent += share * SECONDS
            calls = calls_of(task, Albert.init(PRESETS[preset]), texts, length, usable)
            found, turns = in_turns(calls, begin + spent)
            fewest = min(fewest, turns)
            for way, seconds in found.items():
                times[way].setdefault(size, {})[task] = seconds
    rows = [{"kernels": kernels, "precision": precision, "missing": reasons[kernels, precision],
             "seconds": times.get((kernels, precision))} for kernels, precision in WAYS]  # fmt: skip
    return {"machine": machine(), "cores": cores(), "product_rate": rates, "step_rate": step_rates(rows), "rows": rows,
            "fewest_turns": fewest, "recommendation": recommendation(rows)}  # fmt: skip


def step_rates(rows):
    """{size: operations a second in the fastest way's step}, of the operations that a step does."""
    rates = {}
    for size, (preset, texts, length, *_) in SIZES.items():
        config, P = PRESETS[preset], predictions(length)
        operations = texts * (training_operations(config, length, P) - 3 * unread_operations(config, length, P))
        rates[size] = operations / min(row["seconds"][size]["step"] for row in rows if row["seconds"])
    return rates


def predictions(length):
    return max(1, length // 7)


def calls_of(task, model, texts, length, ways):
    """{way: a function that does the task}, all with the same weights and the same batch."""
    batch = Batch.random(model.config, texts, length, predictions(length))
    models = {way: Albert(model.config, model.params, *way) for way in ways}
    if task == "encoding":
        inputs = batch.input_ids, batch.attention_mask, batch.token_type_ids
        return {way: (lambda model=model: model.encode(*inputs)) for way, model in models.items()}
    grads, moments = model.params.zeros_like(), Moments.zeros(model.params)
    return {way: step_of(model, batch, grads, moments) for way, model in models.items()}


def step_of(model, batch, grads, moments):
    """A step of LAMB whose rate is 0, so that all go on from the same weights."""
    optimiser = optimiser_for(Lamb(), model.params, model.compute.kernels)

    def step():
        grads.flat.fill(0)
        model.loss_and_grads(batch, into=grads)
        optimiser.step(model.params, grads, moments, 0.0, 1)

    return step


def in_turns(calls, end):
    """({way: median seconds}, how many turns), until `end`."""
    taken = {way: [] for way in calls}
    for _ in range(1 + TURNS):
        begin = time.perf_counter()
        for way, call in calls.items():
            start = time.perf_counter()
            call()
            taken[way].append(time.perf_counter() - start)
        now = time.perf_counter()
        if now + (now - begin) > end:
            break
    taken = {way: seconds[1:] or seconds for way, seconds in taken.items()}
    return {way: statistics.median(seconds) for way, seconds in taken.items()}, min(map(len, taken.values()))


def recommendation(rows):
    """One sentence: for each size, the first row whose step is nearly as short as the shortest."""
    parts = []
    for size in SIZES:
        steps = {(row["kernels"], row["precision"]): row["seconds"][size]["step"] for row in rows if row["seconds"]}
        best, (plain, *_) = min(steps.values()), steps.values()
        (kernels, precision), step = next(item for item in steps.items() if item[1] <= AS_GOOD * best)
        how = "no other is 5 % faster" if step == plain else f"a step takes {step / plain:.2f} of plain's time"
        parts.append(f"kernels {kernels!r} in precision {precision!r} for {size} ({how})")
    return f"Of these, take {', and '.join(parts)}."


def machine():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def lines(result):
    yield f"{result['machine']}, {result['cores']} cores"
    names = {"full": "float32", "bf16": "bf16"}
    rates = (f"{names[precision]} {1e-9 * rate:,.0f} GFLOP/s" for precision, rate in result["product_rate"].items())
    yield f"a large product: {', '.join(rates)}"
    rates = (f"{size} {1e-9 * rate:,.0f} GFLOP/s" for size, rate in result["step_rate"].items())
    yield f"the fastest step: {', '.join(rates)} (see `minalbert params --rate`)"
    yield ""
    yield f"{'':20}" + "".join(f"{size:>26}" for size in SIZES)
    yield f"{'kernels, precision':20}" + f"{'step':>14}{'encoding':>12}" * len(SIZES)
    for row in result["rows"]:
        if row["seconds"]:
            cells = "".join(f"{milliseconds(times['step']):>14}{milliseconds(times['encoding']):>12}"
                            for times in row["seconds"].values())  # fmt: skip
            yield f"{row['kernels'] + ', ' + row['precision']:20}{cells}"
    yield from (f"{row['kernels']}, {row['precision']}: {row['missing']}" for row in result["rows"] if row["missing"])
    yield ""
    yield from textwrap.wrap(result["recommendation"], 100)
    if result["fewest_turns"] < FEW:
        yield "Some of these times are of one or two turns: the machine is slow, or busy with something else."


def milliseconds(seconds):
    return f"{1e3 * seconds:,.{1 if seconds < 0.1 else 0}f} ms"
