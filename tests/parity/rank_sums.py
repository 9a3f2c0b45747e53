"""On each rank: add its share of some vectors, and print the hash of every rank's sum and the bytes that were sent.

mpiexec -n 2 python rank_sums.py
"""

import hashlib
import json

import numpy as np
from counting import Counting
from mpi4py import MPI

from minalbert.config import PRESETS
from minalbert.parallel import TreeSum
from minalbert.parallel.rank_sum import PIECE
from minalbert.parallel.ranks import ALONE, Ranks
from minalbert.params import count

SLICES = 8
LENGTHS = 1, 3, 1000, PIECE + 5, count(PRESETS["tiny"])


def leaves(length, dtype):
    """Vectors of numbers so unlike in size that every order has a sum of its own."""
    rng = np.random.default_rng(length)
    return [(rng.standard_normal(length) * 10.0 ** rng.integers(-3, 4, length)).astype(dtype) for _ in range(SLICES)]


def tree_sum(vectors):
    tree = TreeSum(lambda left, right: left + right)
    for vector in vectors:
        tree.push(vector)
    return tree.total()


def main():
    comm = Counting(MPI.COMM_WORLD)
    ranks, own = Ranks(comm) if comm.size > 1 else ALONE, SLICES // comm.size
    for dtype in ("float32", "float64"):
        for length in LENGTHS:
            vector = tree_sum(leaves(length, dtype)[own * comm.rank : own * (comm.rank + 1)])
            comm.sent = 0
            ranks.add(vector)
            hashes = MPI.COMM_WORLD.allgather(hashlib.sha256(vector.tobytes()).hexdigest())
            sent = MPI.COMM_WORLD.allreduce(comm.sent)
            if comm.rank == 0:
                print(json.dumps([dtype, length, hashes, sent]))


if __name__ == "__main__":
    main()
