"""The sum of `rank_sum` for vectors that lie on GPUs, one GPU for each rank: NCCL copies from GPU to GPU.

    exchange     rank i receives its own place of every rank's vector
    the tree     adds the R numbers for each, on the GPU
    exchange     every rank receives all the sums

NCCL only copies bytes, because the order of its own sums changes with the number of ranks. The same numbers are added
in the same order as in `rank_sum`, and a GPU rounds an addition as a processor does, so the bits are the same. MPI
carries the id by which the GPUs find each other.

This is written against CuPy's documented interface and tested with a stand-in for it. It has not yet run on GPUs.
"""

import operator

from ..backend import array_module
from .rank_sum import even_places
from .tree import TreeSum


class NcclSum:
    def __init__(self, comm, nccl):
        """comm: a communicator of mpi4py   nccl: CuPy's module; each rank has chosen its GPU"""
        self.rank, self.size, self.nccl = comm.rank, comm.size, nccl
        link_id = comm.bcast(nccl.get_unique_id() if comm.rank == 0 else None)
        self.link = nccl.NcclCommunicator(comm.size, link_id, comm.rank)

    def add(self, vector):
        """Replace a vector on a GPU by its sum over all ranks, the same bits on each."""
        places = even_places(len(vector), self.size)
        self.add_places(vector, places, vector[slice(*places[self.rank])])
        self.collect(vector, places)

    def add_places(self, vector, places, own):
        """Replace `own`, this rank's place of a vector or a copy of it, by its sum over all ranks."""
        xp, stream = array_module(vector), array_module(vector).cuda.get_current_stream()
        received = xp.empty((self.size, len(own)), vector.dtype)
        received[self.rank] = own
        self.exchange([vector[slice(*place)] for place in places], received, stream)
        stream.synchronize()                         # so that the heartbeat says `waits` as long as other ranks do
        tree = TreeSum(operator.iadd)
        for numbers in received:
            tree.push(numbers)
        own[...] = tree.total()

    def collect(self, vector, places):
        """Replace all other ranks' places of a vector by theirs."""
        parts, stream = [vector[slice(*place)] for place in places], array_module(vector).cuda.get_current_stream()
        self.exchange([parts[self.rank]] * self.size, parts, stream)
        stream.synchronize()

    def exchange(self, sent, received, stream):
        """Send sent[k] to each other rank k, and receive received[k] from it."""
        self.nccl.groupStart()                       # all at once: one by one, each rank would wait for another
        for call, arrays in ((self.link.send, sent), (self.link.recv, received)):
            for rank, array in enumerate(arrays):
                if rank != self.rank and array.nbytes:
                    call(array.data.ptr, array.nbytes, self.nccl.NCCL_UINT8, rank, stream.ptr)
        self.nccl.groupEnd()
