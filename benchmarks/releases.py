"""Is this checkout slower, or does it take more memory, than another one?

    git worktree add ../before v0.1.0
    python benchmarks/releases.py ../before [--kernels plain fused compiled] [--case NAME ...] [--runs 15] [--json]

A training step (forward, backward, AdamW; float32) of each size of step.py, each checkout in a process of its own. The
two take turns, so that a busy machine slows both; the ratio is the median over pairs of neighbours. Memory is the
largest resident size of each process, less what it had before its first step. Linux and macOS.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from threads import limit

HERE = Path(__file__).resolve().parent
WORKER = r"""
import resource, sys, time
import numpy as np
from workloads import WORKLOADS
from minalbert import Albert
from minalbert.optim import AdamW, Moments

name, kernels = sys.argv[1:]
work = WORKLOADS[name]
batch = work.batch()
try:
    model = Albert.init(work.config, kernels=kernels)
    step_of = lambda grads: model.loss_and_grads(batch, into=grads)
except ValueError:                                   # before 0.2: fused was called numpy, and plain was hidden
    if kernels == "plain":
        from minalbert.fast import crew
        from minalbert.fast.plain import PlainEngine
        crew.engine_for = lambda config, params, how=None: PlainEngine(config, params)
    model = Albert.init(work.config, kernels="compiled" if kernels == "compiled" else "numpy")
    step_of = lambda grads: model.loss_and_grads(batch, into=grads)
grads, moments, optimiser = model.params.zeros_like(), Moments.zeros(model.params), AdamW()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

before = peak()
for line in sys.stdin:
    start = time.perf_counter()
    grads.flat.fill(0)
    step_of(grads)
    optimiser.step(model.params, grads, moments, 1e-6, 1)
    print(time.perf_counter() - start, peak() - before, flush=True)
"""


class Process:
    def __init__(self, checkout, name, kernels):
        self.checkout, self.case = checkout, f"{name}, {kernels}"
        paths = os.pathsep.join([str(Path(checkout).resolve()), str(Path(checkout).resolve() / "benchmarks")])
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, name, kernels], env=os.environ | {"PYTHONPATH": paths},
            cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def step(self):
        """(seconds, peak memory so far)"""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        if not (line := self.process.stdout.readline()):
            sys.exit(f"{self.checkout} takes no step of {self.case}: see above")
        seconds, memory = line.split()
        return float(seconds), int(memory)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(before, name, kernels, runs):
    processes = Process(HERE.parent, name, kernels), Process(before, name, kernels)
    now, then = processes
    for process in processes:
        process.step()
        process.step()  # the first touches fresh memory
    runs = max(runs, min(101, round(3 / (now.step()[0] + then.step()[0]))))
    ratios, times = [], ([], [])
    for run in range(runs):
        turn = (0, 1) if run % 2 else (1, 0)
        seconds = {i: processes[i].step()[0] for i in turn}
        ratios.append(seconds[0] / seconds[1])
        for i in turn:
            times[i].append(seconds[i])
    memory = now.step()[1] / max(1, then.step()[1])
    for process in processes:
        process.close()
    quartiles = statistics.quantiles(ratios, n=4)
    return {
        "case": f"{name}, {kernels}", "now": statistics.median(times[0]), "before": statistics.median(times[1]),
        "ratio": statistics.median(ratios), "spread": [quartiles[0], quartiles[2]], "memory": memory,
    }  # fmt: skip


def main():
    from workloads import WORKLOADS

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="the other checkout")
    parser.add_argument("--kernels", nargs="*", default=["plain", "fused", "compiled"])
    parser.add_argument("--case", nargs="*", default=list(WORKLOADS), choices=WORKLOADS, metavar="NAME")
    parser.add_argument("--runs", type=int, default=15, help="pairs of steps at least (default: 15)")
    parser.add_argument("--threads", default="2", help="of BLAS, and workers (default: 2)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    limit(options.threads)
    if not options.json:
        print(f"{'':36} {'now':>10} {'before':>10} {'ratio':>6}  {'quartiles':13} {'memory':>6}")
    for kernels in options.kernels:
        for name in options.case:
            row = compare(options.before, name, kernels, options.runs)
            print(json.dumps(row) if options.json else (
                f"{row['case']:36} {1e3 * row['now']:7.1f} ms {1e3 * row['before']:7.1f} ms {row['ratio']:6.3f}  "
                f"{row['spread'][0]:.3f} - {row['spread'][1]:.3f} {row['memory']:6.2f}"
            ), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
