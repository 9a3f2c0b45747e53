"""How does a step's time fall with the ranks?

    python benchmarks/scaling.py [--case NAME ...] [--kernels plain|fused|compiled] [--rounds 5] [--json]

One rank and two, each with one core and one thread, take turns in processes of their own: forward, backward, the sum
over ranks and LAMB.

    strong    one batch in two micro-batches; efficiency = one rank's time / (2 x two ranks')
    weak      a micro-batch for each rank; efficiency = one rank's time / two ranks'
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import threads

threads.limit("2")  # cores; each rank takes one of them below
os.environ |= dict.fromkeys(threads.LIBRARIES, "1")

from workloads import WORKLOADS  # noqa: E402

from minalbert import Albert, Batch  # noqa: E402
from minalbert.fused import optimiser_for  # noqa: E402
from minalbert.optim import Lamb, Moments  # noqa: E402
from minalbert.parallel import ALONE, Ranks, Workers, gradient_over  # noqa: E402

CASES = ("the demo, 64 × 32, padded", "ALBERT-base, 8 × 128")
SECONDS = 4  # of steps in a process


def step_of(work, kernels, micro_batches, ranks):
    """A function that makes a step with this rank's share of so many micro-batches."""
    model, batch = Albert.init(work.config, kernels=kernels), work.batch()
    parts = slice(0, work.size // 2), slice(work.size // 2, None)
    halves = [Batch(*(array[part] for array in batch)) for part in parts]
    own = halves[:micro_batches][ranks.share(micro_batches)]
    workers, moments = Workers(model, 1), Moments.zeros(model.params)
    optimiser = optimiser_for(Lamb(), model.params, kernels, 1)

    def step():
        found = gradient_over(ranks, workers, workers.slices_of(own))
        optimiser.step(model.params, found.grads, moments, 1e-6, 1)
        workers.release(found.grads)

    return step


def side(case, kernels, micro_batches):
    """The median seconds of a step, on rank 0."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[comm.rank]})
    step = step_of(WORKLOADS[case], kernels, micro_batches, Ranks(comm) if comm.size > 1 else ALONE)
    taken, begin = [], time.perf_counter()
    while comm.bcast(time.perf_counter() - begin < SECONDS or len(taken) < 4):
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[2:]) if comm.rank == 0 else None  # the first two touch fresh memory


def measure(case, kernels, ranks, micro_batches):
    mpiexec = Path(sys.executable).with_name("mpiexec")
    call = [mpiexec, "-n", ranks, sys.executable, __file__, "--side", "--case", case, "--kernels", kernels,
            "--micro-batches", micro_batches]  # fmt: skip
    return json.loads(subprocess.run([*map(str, call)], stdout=subprocess.PIPE, check=True).stdout)


def rows(case, kernels, rounds):
    found = [
        {run: measure(case, kernels, *run) for run in ((1, 2), (2, 2), (1, 1))}  # ranks, micro-batches
        for _ in range(rounds)
    ]
    for name, one, factor in (("strong", (1, 2), 2), ("weak", (1, 1), 1)):
        efficiency = sorted(times[one] / times[2, 2] / factor for times in found)
        yield {"case": case, "kernels": kernels, "scaling": name,
               "one": statistics.median(times[one] for times in found),
               "two": statistics.median(times[2, 2] for times in found),
               "efficiency": statistics.median(efficiency), "spread": [efficiency[0], efficiency[-1]]}  # fmt: skip


def line(row):
    low, high = row["spread"]
    return (
        f"{row['case']}, {row['kernels']}, {row['scaling']}: 1 rank {row['one'] * 1e3:.1f} ms, "
        f"2 ranks {row['two'] * 1e3:.1f} ms; efficiency {row['efficiency']:.2f} ({low:.2f} to {high:.2f})"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=WORKLOADS, metavar="NAME")
    parser.add_argument("--kernels", choices=("plain", "fused", "compiled"), default="plain")
    parser.add_argument("--rounds", type=int, default=5, help="of one rank and two (default: 5)")
    parser.add_argument("--json", action="store_true", help="one object per row")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--micro-batches", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        found = side(options.case[0], options.kernels, options.micro_batches)
        print("" if found is None else json.dumps(found), end="")
        return
    for case in options.case:
        for row in rows(case, options.kernels, options.rounds):
            print(json.dumps(row) if options.json else line(row), flush=True)


if __name__ == "__main__":
    main()
