"""On each rank: add its share of some vectors, and print the hash of every rank's sum and the bytes that were sent.

mpiexec -n 2 python rank_sums.py             vectors on the host
mpiexec -n 2 python rank_sums.py copied      on a pretended GPU, by way of the host
mpiexec -n 2 python rank_sums.py nccl        on a pretended GPU, by NcclSum and a pretended NCCL
"""

import hashlib
import itertools
import json
import sys

import fake_nccl
import numpy as np
from counting import Counting
from mpi4py import MPI

from minalbert.backend import to_device, to_host
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


def main(way="host"):
    device = "cpu" if way == "host" else "cuda"
    comm = Counting(MPI.COMM_WORLD)
    ranks, own = Ranks(comm) if comm.size > 1 else ALONE, SLICES // comm.size
    with fake_nccl.pretended_gpu(way):
        if comm.size > 1 and way != "host":
            by_nccl = ranks.use_nccl()
            assert by_nccl == (way == "nccl")
        for dtype, length in itertools.product(("float32", "float64"), LENGTHS):
            vector = tree_sum(leaves(length, dtype)[own * comm.rank : own * (comm.rank + 1)])
            vector, comm.sent, fake_nccl.sent = to_device(vector, device), 0, 0
            ranks.add(vector)
            hashes = MPI.COMM_WORLD.allgather(hashlib.sha256(to_host(vector).tobytes()).hexdigest())
            sent = MPI.COMM_WORLD.allreduce(fake_nccl.sent if way == "nccl" else comm.sent)
            if comm.rank == 0:
                print(json.dumps([dtype, length, hashes, sent]))


if __name__ == "__main__":
    main(*sys.argv[1:])
