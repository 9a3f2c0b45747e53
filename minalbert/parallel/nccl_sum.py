"""The sum of `rank_sum` for vectors that lie on GPUs, one GPU for each rank: NCCL copies from GPU to GPU.

    exchange     rank i receives the i-th share of every rank's vector
    the tree     adds the R shares, on the GPU
    exchange     every rank receives all the sums

NCCL only copies bytes, because the order of its own sums changes with the number of ranks. The same numbers are added
in the same order as in `rank_sum`, and a GPU rounds an addition as a processor does, so the bits are the same. MPI
carries the id by which the GPUs find each other.

This is written against CuPy's documented interface and tested with a stand-in for it. It has not yet run on GPUs.
"""

import operator
from itertools import accumulate, pairwise

from ..backend import array_module
from .rank_sum import shares
from .tree import TreeSum


class NcclSum:
    def __init__(self, comm, nccl):
        """comm: a communicator of mpi4py   nccl: CuPy's module; each rank has chosen its GPU"""
        self.rank, self.size, self.nccl = comm.rank, comm.size, nccl
        link_id = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        self.link = nccl.NcclCommunicator(comm.size, link_id, comm.rank)

    def add(self, vector):
        """Replace a vector on a GPU by its sum over all ranks, the same bits on each."""
        xp = array_module(vector)
        parts = [vector[i:j] for i, j in pairwise(accumulate(shares(len(vector), self.size), initial=0))]
        mine, stream = parts[self.rank], xp.cuda.get_current_stream()
        received = xp.empty((self.size, len(mine)), vector.dtype)
        received[self.rank] = mine
        self.exchange(parts, received, stream)
        tree = TreeSum(operator.iadd)
        for share in received:
            tree.push(share)
        mine[...] = tree.total()
        self.exchange([mine] * self.size, parts, stream)
        stream.synchronize()                         # so that the heartbeat says `waits` as long as other ranks do

    def exchange(self, sent, received, stream):
        """Send sent[k] to each other rank k, and receive received[k] from it."""
        self.nccl.groupStart()                       # all at once: one by one, each rank would wait for another
        for call, arrays in ((self.link.send, sent), (self.link.recv, received)):
            for rank, array in enumerate(arrays):
                if rank != self.rank and array.nbytes:
                    call(array.data.ptr, array.nbytes, self.nccl.NCCL_UINT8, rank, stream.ptr)
        self.nccl.groupEnd()
