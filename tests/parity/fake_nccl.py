"""cupy.cuda.nccl for the pretended GPU, by MPI: the calls that NcclSum makes, with CuPy's arguments in CuPy's order.

Memory is an address and a number of bytes, as NCCL's is. Stricter than NCCL: outside a group nothing may be sent.
"""

import contextlib
import os
import sys
from unittest import mock

import fake_cupy
from mpi4py import MPI

available, NCCL_UINT8 = True, 1
group, sent = None, 0  # the calls of the group that is open; bytes that have left this rank


def get_unique_id():
    return os.urandom(16)


def groupStart():
    global group
    assert group is None
    group = []


def groupEnd():
    global group
    MPI.Request.Waitall([call(MPI.buffer.fromaddress(*memory), peer) for call, memory, peer in group])
    group = None


class NcclCommunicator:
    def __init__(self, ndev, commId, rank):
        everyone = MPI.COMM_WORLD.allgather((commId, rank))
        self.places = {number: place for place, (found, number) in enumerate(everyone) if found == commId}
        assert sorted(self.places) == [*range(ndev)]

    def send(self, sendbuf, count, datatype, peer, stream):
        global sent
        sent += count
        self.note(MPI.COMM_WORLD.Isend, sendbuf, count, datatype, peer, stream)

    def recv(self, recvbuf, count, datatype, peer, stream):
        self.note(MPI.COMM_WORLD.Irecv, recvbuf, count, datatype, peer, stream)

    def note(self, call, buffer, count, datatype, peer, stream):
        assert (datatype, stream) == (NCCL_UINT8, fake_cupy.cuda.get_current_stream().ptr)
        group.append((call, (buffer, count), self.places[peer]))


@contextlib.contextmanager
def pretended_gpu(way):
    """Pretend a GPU for each rank, way "nccl" with NCCL and "copied" without; "host": none."""
    if way == "host":
        yield
        return
    from pretended import pretended_gpu  # of tests/cuda, where scripts find it

    with pretended_gpu() as cupy, mock.patch.dict(sys.modules, {"cupy.cuda": cupy.cuda}):
        if way == "nccl":
            cupy.cuda.nccl = sys.modules[__name__]
        yield
