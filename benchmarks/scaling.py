"""How does a step's time fall with the ranks?

    mpiexec -n 2 python benchmarks/scaling.py [--case NAME ...] [--kernels plain|fused|compiled] [--turns 40]

A step is forward, backward, the sum over ranks, the norm, clipping and LAMB; each rank has one core and one thread. The
same two processes take turns: steps of both, then of rank 0 while rank 1 sleeps.

    strong     one batch in two micro-batches; efficiency = one rank's time / (2 x two ranks')
    weak       a micro-batch for each rank; efficiency = one rank's time / two ranks'
    nothing    each process has a batch of its own and exchanges nothing; efficiency = one's time alone / beside another

A core is slower while its neighbour computes, so the third is what the machine would give to two ranks at no cost.
"""

import argparse
import os
import statistics
import time

import threads

threads.limit("2")  # cores; each rank takes one of them below
os.environ |= dict.fromkeys(threads.LIBRARIES, "1")

from workloads import WORKLOADS  # noqa: E402

from minalbert import Albert, Batch  # noqa: E402
from minalbert.fused import optimiser_for  # noqa: E402
from minalbert.optim import Lamb, Moments, clip_factor  # noqa: E402
from minalbert.parallel import ALONE, Ranks, SharedStep, TensorShares, Workers, gradient_over  # noqa: E402

CASES = ("the demo, 64 × 32, padded", "ALBERT-base, 8 × 128")
SECONDS = 0.3  # of steps in a turn


def step_of(work, kernels, micro_batches, ranks):
    """A function that makes a step with this rank's share of so many micro-batches."""
    model, batch = Albert.init(work.config, kernels=kernels), work.batch()
    parts = slice(0, work.size // 2), slice(work.size // 2, None)
    halves = [Batch(*(array[part] for array in batch)) for part in parts]
    own = halves[:micro_batches][ranks.share(micro_batches)]
    workers, shares = Workers(model, 1), TensorShares(ranks, model.params)
    stepped = shares.own(model.params)
    optimiser, moments = optimiser_for(Lamb(), stepped, kernels, 1), Moments.zeros(stepped)
    optimiser = SharedStep(optimiser, shares) if ranks.size > 1 else optimiser

    def step():
        found = gradient_over(shares, workers, workers.slices_of(own))
        factor = clip_factor(shares.norm(found), 1.0)
        optimiser.step(model.params, found.grads, moments, 1e-6, 1, factor)
        workers.release(found.grads)

    return step


def timed(step, count):
    """The median seconds of so many steps, after one that brings its code and arrays into the cache."""
    taken = []
    for _ in range(count + 1):
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


def ranks_with_a_core_each():
    """The processes that MPI has started, and this one on a core of its own."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[comm.rank]})
    return comm, Ranks(comm) if comm.size > 1 else ALONE


def sleep_until_all_are_here(comm):
    request = comm.Ibarrier()
    while not request.Test():  # `Wait` would spin, and slow the rank that computes
        time.sleep(0.001)


def turn(comm, both, one, half, count):
    """{what is timed: seconds of a step, by rank 0's clock}"""
    found = {}
    for name, step, ranks in (("two", both, 2), ("one", one, 1), ("half", half, 1), ("beside", one, 2)):
        sleep_until_all_are_here(comm)
        if comm.rank < ranks:
            found[name] = timed(step, count)
    return found


def efficiencies(turns):
    for name, of_turn in (
        ("strong", lambda t: t["one"] / t["two"] / 2),
        ("weak", lambda t: t["half"] / t["two"]),
        ("nothing", lambda t: t["one"] / t["beside"]),
    ):
        first, middle, last = statistics.quantiles(map(of_turn, turns), n=4)
        yield f"{name} {middle:.2f} ({first:.2f} to {last:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=WORKLOADS, metavar="NAME")
    parser.add_argument("--kernels", choices=("plain", "fused", "compiled"), default="plain")
    parser.add_argument("--turns", type=int, default=40, help="of each kind (default: 40)")
    options = parser.parse_args()
    comm, ranks = ranks_with_a_core_each()
    if comm.size != 2:
        parser.error(f"the number of processes is {comm.size}; this compares one with two: mpiexec -n 2 python ...")
    for case in options.case:
        work = WORKLOADS[case]
        both, one, half = (step_of(work, options.kernels, *kind) for kind in ((2, ranks), (2, ALONE), (1, ALONE)))
        count = comm.bcast(max(1, round(SECONDS / timed(one, 2))))
        turns = [turn(comm, both, one, half, count) for _ in range(options.turns)]
        if comm.rank == 0:
            times = ", ".join(f"{name} {statistics.median(t[name] for t in turns) * 1e3:.1f} ms" for name in turns[0])
            print(f"{case}, {options.kernels}: {times}\n    efficiency: {', '.join(efficiencies(turns))}", flush=True)


if __name__ == "__main__":
    main()
