"""How long does the sum over ranks take, and how long MPI's own, which adds in an order of its own?

    mpiexec -n 2 python benchmarks/ranks.py [--numbers 12000000 ...] [--runs 31] [--json]

The peer is Allreduce in place, on the same vector of float32. Both take turns. The floor is a plain copy of the vector,
beside the other ranks' copies: what is sent has to be read and written once at least.
"""

import argparse
import json
import statistics
import time

import numpy as np
from mpi4py import MPI

from minalbert.parallel.rank_sum import add_over_ranks


def seconds(call, comm):
    """Until the last rank has done it."""
    comm.Barrier()
    begin = time.perf_counter()
    call()
    comm.Barrier()
    return time.perf_counter() - begin


def measure(numbers, runs, comm):
    original = np.random.default_rng(comm.rank).standard_normal(numbers, "float32")
    vector, rooms = original.copy(), []
    calls = {
        "ours": lambda: add_over_ranks([vector], comm, rooms),
        "peer": lambda: comm.Allreduce(MPI.IN_PLACE, vector),
        "floor": lambda: np.copyto(vector, original),
    }
    taken = {name: [] for name in calls}
    for run in range(runs + 2):
        for name in [*calls][:: 1 - 2 * (run % 2)]:
            taken[name].append(seconds(calls[name], comm))
            np.copyto(vector, original)
    taken = {name: times[2:] for name, times in taken.items()}  # the first touch fresh memory
    ratios = sorted(ours / peer for ours, peer in zip(taken["ours"], taken["peer"], strict=True))
    return {
        "case": f"{numbers:,} numbers, {comm.size} ranks",
        **{name: statistics.median(times) for name, times in taken.items()},
        "ratio": statistics.median(ratios),
        "spread": [ratios[0], ratios[-1]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--numbers", nargs="*", type=int, default=[10**5, 12 * 10**6], help="lengths of the vector")
    parser.add_argument("--runs", type=int, default=31, help="pairs of runs per case (default: 31)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options, comm = parser.parse_args(), MPI.COMM_WORLD
    for numbers in options.numbers:
        row = measure(numbers, options.runs, comm)
        if comm.rank:
            continue
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        times = ", ".join(f"{name} {row[name] * 1e3:.2f} ms" for name in ("ours", "peer", "floor"))
        low, high = row["spread"]
        print(f"{row['case']}: {times}; ours/peer {row['ratio']:.2f} ({low:.2f} to {high:.2f})", flush=True)


if __name__ == "__main__":
    main()
