"""Ranks: processes that train one model together, each with its own share of every batch.

    mpiexec -n 4 minalbert pretrain RUN          four processes, of ranks 0 to 3; rank 0 alone writes and prints

Every rank has all weights. They add their gradients, share the optimiser's step (tensor_shares.py), and exchange a few
small objects; at the start all receive the state of rank 0. MPI (mpi4py, in the extra `mpi`) only copies bytes. All
ranks call the same methods in the same order; one that does not call keeps the others waiting.
"""

import os
import sys
import time
import traceback
from contextlib import ExitStack, contextmanager

from ..backend import device_of, nccl, to_device, to_host
from ..errors import MinalbertError, MissingLibraryError, TrainError
from .heartbeat import Unwatched, heartbeat_of
from .nccl_sum import NcclSum
from .rank_sum import Summed, add_over_ranks, collect, summed_everywhere

LAUNCHERS = {                                        # what says how many processes were started
    "PMI_SIZE": "mpiexec", "OMPI_COMM_WORLD_SIZE": "mpirun", "SLURM_STEP_NUM_TASKS": "srun",
}  # fmt: skip


class Alone:
    """One process, without MPI."""

    rank, size, here, shared_error = 0, 1, 1, None

    def __init__(self, heartbeat=None):
        self.heartbeat = heartbeat or Unwatched()
        self.model_group = self.data_group = self

    def form_groups(self, model_ranks):
        """Let each `model_ranks` neighbours share a model. One process has a model of its own."""

    def share(self, count):
        """A slice: which of `count` items in a row are this rank's."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def gather(self, value):
        """[each rank's value], on all ranks."""
        self.heartbeat.say("works")
        return [value]

    def from_first(self, work):
        """Call work() on rank 0 only. All ranks return what it returns, and raise what it raises."""
        return work()

    def from_all(self, work):
        """Call work() on each rank, and return its own result. What it raises on one is raised on all."""
        return work()

    def add(self, *vectors):
        """Replace each vector by its sum over all ranks."""

    def add_places(self, vector, places, before):
        """Replace this rank's place of a vector by its sum over all ranks.

        Returns the sum of another place, which `before` has for each rank; in the vector it stays as it is.
        """

    def collect(self, vector, places):
        """Replace all other ranks' places of a vector by theirs."""

    def copy_first(self, vector):
        """Replace a vector by rank 0's."""


ALONE = Alone()


class Ranks(Alone):
    """Several processes: the methods of `Alone` over MPI. comm: a communicator of mpi4py"""

    def __init__(self, comm, here=1, heartbeat=None):
        """here: how many of the ranks are on this machine"""
        super().__init__(heartbeat)
        self.comm, self.rank, self.size, self.here, self._rooms = comm, comm.rank, comm.size, here, []
        self.model_group, self._grids, self._nccl_sum = Alone(heartbeat), {}, None

    def form_groups(self, model_ranks):
        """Let each `model_ranks` neighbours share a model: a grid, for instance of 2 x 2 ranks.

            rank 0   rank 1      model_group: a row, whose ranks have the same data and other shares of the weights
            rank 2   rank 3      data_group: a column, with the same share of the weights and other data

        Groups are made once for each grid: MPI has some two thousand communicators, and a sweep may have more runs.
        """
        if model_ranks not in self._grids:
            row, column = divmod(self.rank, model_ranks)
            self._grids[model_ranks] = self._group(row, model_ranks), self._group(column, self.size // model_ranks)
        self.model_group, self.data_group = self._grids[model_ranks]

    def _group(self, number, size):
        if size in (1, self.size):
            return self if size > 1 else Alone(self.heartbeat)
        return Ranks(self.comm.Split(number, self.rank), heartbeat=self.heartbeat)

    def gather(self, value):
        return self._together(lambda: self.comm.allgather(value))

    def from_first(self, work):
        outcome = outcome_of(work) if self.rank == 0 else None
        return self._shared(self._together(lambda: self.comm.bcast(outcome)))

    def from_all(self, work):
        found, error = outcome_of(work)
        failed = [one for one in self.gather(error) if one]
        return self._shared((found, failed[0] if failed else None))

    def add(self, *vectors):
        self._together(lambda: self._add(vectors))

    def _add(self, vectors):
        with ExitStack() as copies:
            on_hosts = []
            for vector in vectors:
                if self._by_nccl(vector):
                    self._nccl_sum.add(vector)
                else:
                    on_hosts.append(summed_everywhere(copies.enter_context(on_host(vector)), self.comm))
            add_over_ranks(on_hosts, self.comm, self._rooms)

    def add_places(self, vector, places, before):
        return self._together(lambda: self._add_places(vector, places, before))

    def _add_places(self, vector, places, before):
        own, copied = (slice(*where[self.rank]) for where in (places, before))
        if self._by_nccl(vector):
            found = vector[copied].copy()
            self._nccl_sum.add_places(vector, before, found)
            self._nccl_sum.add_places(vector, places, vector[own])
            return found
        with on_host(vector) as host:
            found = host[copied].copy()
            sums = Summed(host, before, found, False), Summed(host, places, host[own], False)
            add_over_ranks(sums, self.comm, self._rooms)     # in this order: what is sent for `found` is not yet a sum
        return to_device(found, device_of(vector))

    def collect(self, vector, places):
        self._together(lambda: self._collect(vector, places))

    def _collect(self, vector, places):
        if self._by_nccl(vector):
            self._nccl_sum.collect(vector, places)
        else:
            with on_host(vector) as host:
                collect(host, places, self.comm)

    def _by_nccl(self, vector):
        return self._nccl_sum and device_of(vector) == "cuda"

    def use_nccl(self):
        """From now on add vectors that are on GPUs there, if all ranks have NCCL. Have they?"""
        if self._nccl_sum is None and all(self.gather(nccl() is not None)):
            self._nccl_sum = self._together(lambda: NcclSum(self.comm, nccl()))
        return self._nccl_sum is not None

    def copy_first(self, vector):
        with on_host(vector) as host:
            self._together(lambda: self.comm.Bcast(host))

    def _together(self, call):
        """Call what needs all ranks."""
        self.heartbeat.say("waits")
        found = call()
        self.heartbeat.say("works")
        return found

    def _shared(self, outcome):
        found, self.shared_error = outcome
        if self.shared_error:
            raise self.shared_error
        return found


@contextmanager
def on_host(vector):
    """A vector where MPI reads and writes it: itself, or if it is on a GPU a copy, which is copied back in the end."""
    host = to_host(vector)
    yield host
    if host is not vector:
        vector.set(host)


def outcome_of(work):
    """(what work() returns, None) or (None, what it raises)"""
    try:
        return work(), None
    except Exception as error:
        return None, error


def world():
    """The ranks that this process was started with: Alone, unless a launcher of MPI has started several."""
    name, asked = next(((name, int(os.environ[name])) for name in LAUNCHERS if os.environ.get(name, "").isdecimal()),
                       (None, 1))
    if asked == 1:
        return Alone(heartbeat_of(0))
    os.environ.setdefault("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1")       # of MPICH; the sentence is ours
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:     # no mpi4py, or no MPI that it can load
        raise MissingLibraryError(f"{LAUNCHERS[name]} has started {asked} processes, but mpi4py cannot be imported "
                                  f"({error}): pip install 'minalbert[mpi]'") from error
    comm = MPI.COMM_WORLD
    if comm.size != asked:
        library = " ".join(MPI.Get_library_version().split("\n")[0].split(",")[0].split())
        raise TrainError(f"{LAUNCHERS[name]} has started {asked} processes ({name}), but {library}, which mpi4py has "
                         f"loaded, sees {comm.size}: take the launcher that came with this library")
    sys.excepthook = lambda kind, error, trace: end_all(error)
    return Ranks(comm, comm.Split_type(MPI.COMM_TYPE_SHARED).size, heartbeat_of(comm.rank))


def end_all(error, code=1):
    """Print what ends this rank, and end all others, which would wait for it for ever."""
    from mpi4py import MPI

    shown = str(error) if isinstance(error, MinalbertError) else "".join(traceback.format_exception(error))
    print(f"minalbert: rank {MPI.COMM_WORLD.rank} ends all ranks: {shown}", file=sys.stderr, flush=True)
    time.sleep(1)      # a launcher that is told to end before it has read this sentence does not pass it on
    MPI.COMM_WORLD.Abort(code)
