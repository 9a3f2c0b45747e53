"""What does each way to need less memory cost in time? Sharing, recomputation, reversible layers, and all together.

    python benchmarks/memory_for_time.py [--case NAME ...] [--sharing all none] [--rounds 3] [--threads 1] [--json]

Every way takes its steps in processes of its own, one after the other, round after round, so that a busy machine slows
all of them. Time is that of the processor, which a busy machine changes least: the fastest of a process's steps after
the first, and of these the median over rounds. Memory is the most that the process ever held, less what it held before
the model was made. Predicted is what `minalbert params` says of weights, gradients, moments and activations; of plain
kernels it knows the layers' caches, not what a function needs in passing. In parts, each thread has a part's
activations, and there are several gradients at a time; all other ways compute a batch as one part.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import comparison
from memory import held
from workloads import BASE, WORKLOADS

from minalbert import Albert
from minalbert.analysis import memory_for_time
from minalbert.analysis.cost import optimiser_bytes
from minalbert.capacity import cores
from minalbert.optim import AdamW, Moments
from minalbert.parallel import cut, gradients_at_a_time, slices

STEPS = 3


class Way(NamedTuple):
    kernels: str
    sharing: str
    method: str


WAYS = [
    Way(kernels, sharing, method.name)
    for sharing in ("all", "none")
    for kernels in ("plain", "fused")
    for method in memory_for_time.methods(BASE)
    if kernels == "plain" or not method.reversible
]


def take_steps(work, way):
    """In a process of its own: seconds of a step, and the bytes it held beyond those before there was a model."""
    method = next(method for method in memory_for_time.methods(work.config) if method.name == way.method)
    config = work.config.replace(sharing=way.sharing, reversible=method.reversible)
    if not method.in_parts:
        slices.SLICES, slices.LARGEST_PART = 1, 2**60
    before = held("VmRSS")
    model, batch = Albert.init(config, kernels=way.kernels), work.batch()
    grads, moments = model.params.zeros_like(), Moments.zeros(model.params)

    def step():
        grads.flat.fill(0)
        model.loss_and_grads(batch, into=grads, recompute=method.recompute)
        AdamW().step(model.params, grads, moments, 1e-6, 1)

    times = []
    for _ in range(STEPS):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return {"seconds": min(times[1:]), "held": held("VmHWM") - before}


def in_a_process(name, number):
    command = [sys.executable, __file__, "--threads", comparison.THREADS, "--way", str(number), "--case", name]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(name, sharing, rounds):
    work, found = WORKLOADS[name], {way: [] for way in WAYS if way.sharing in sharing}
    for _ in range(rounds):
        for way, runs in found.items():
            runs.append(in_a_process(name, WAYS.index(way)))
    seconds = {way: statistics.median(run["seconds"] for run in runs) for way, runs in found.items()}
    for way, runs in found.items():
        keeping = way._replace(method=WAYS[0].method)
        config = work.config.replace(sharing=way.sharing)
        row = next(row for row in memory_for_time.table(config, work.size, work.length, work.predictions)
                   if row["name"] == way.method)  # fmt: skip
        weights = sum(optimiser_bytes(config).values())
        activations = row["activation_bytes" if way.kernels == "fused" else "plain_bytes"]
        if row["in_parts"]:
            workers = min(work.size, cores())
            activations *= workers
            weights += (gradients_at_a_time(len(cut(work.batch(), config.hidden_size)), workers) - 1) * weights // 4
        yield {"case": name, **way._asdict(), "seconds": seconds[way], "ratio": seconds[way] / seconds[keeping],
               "held": statistics.median(run["held"] for run in runs), "activations": activations,
               "predicted": activations + weights, "operations": row["operations"]}  # fmt: skip


def line(row):
    numbers = "".join(f"{row[key] / 1e6:12,.0f}" for key in ("activations", "predicted", "held"))
    return (f"{row['case']:22} {row['kernels']:6} {row['sharing']:7} {row['method']:30}{row['operations']:7.2f}"
            f"{row['ratio']:7.2f}{row['seconds']:8.2f}{numbers}")  # fmt: skip


HEAD = (f"{'':22} {'':6} {'sharing':7} {'':30}{'FLOPs':>7}{'time':>7}{'s':>8}{'activations':>12}{'predicted':>12}"
        f"{'held, MB':>12}")  # fmt: skip


def main():
    names = [name for name, work in WORKLOADS.items() if work.config is BASE]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.threads])
    parser.add_argument("--case", nargs="*", default=names, choices=WORKLOADS, metavar="NAME", help=" | ".join(names))
    parser.add_argument("--sharing", nargs="*", default=["all", "none"], choices=("all", "none"))
    parser.add_argument("--rounds", type=int, default=3, help="processes of each way (default: 3)")
    parser.add_argument("--json", action="store_true", help="one object per row")
    parser.add_argument("--way", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        print(json.dumps(take_steps(WORKLOADS[options.case[0]], WAYS[options.way])))
        return
    if not options.json:
        print(HEAD)
    for row in (row for name in options.case for row in measure(name, options.sharing, options.rounds)):
        print(json.dumps(row) if options.json else line(row), flush=True)


if __name__ == "__main__":
    main()
