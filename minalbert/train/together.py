"""How several ranks begin one run: what must be the same on all of them, and the state that rank 0 gives the others.

Rank 0 alone reads and writes the run's directory. Every other rank opens the data, receives rank 0's state, and makes
the same steps; what it would write goes nowhere.
"""

import hashlib
import platform
from pathlib import Path
from typing import NamedTuple

from ..albert import Albert
from ..backend import check_device, take_card
from ..capacity import cores
from ..errors import ConfigError, DeviceError, TrainError
from ..files import read
from ..optim import Moments
from ..params import Params
from . import checkpoint, run_directory, saved_steps
from .begin import compute_of, facts_of, identity_of, place_of, state_of
from .process import lock
from .records import Observer

MAY_DIFFER = {"processor"}                           # as long as it has the same kernels
PACKAGE = Path(__file__).parents[1]


class Place(NamedTuple):
    name: str                                        # the run's identity
    spare: Path | None                               # its own directory in the spare one
    newest: Path                                     # the directory with its newest checkpoint
    noted: dict                                      # its facts of data and environment; {} if it begins now


def open_place(held, run, settings, from_step):
    """Make the run's directory, or find it, and lock it as long as `held` is open."""
    run_directory.make(run)
    held.enter_context(lock(run))
    saved_steps.clear_leftovers(run)
    name, spare = identity_of(run, settings.checkpoints.spare)
    if spare:
        saved_steps.clear_leftovers(spare)
    newest = place_of(run, spare, from_step)
    run_directory.check_kind(run, run_directory.kept_tables(run)[0], type(settings))
    return Place(name, spare, newest, facts_of(newest, name))


def open_together(ranks, open_job, settings, run, noted, facts):
    """The job, on every rank. facts: the environment's"""
    job = ranks.from_all(lambda: open_job(settings, run, noted, ranks))
    ranks.from_all(lambda: check_fit(job.settings, ranks))
    ranks.from_all(lambda: check_alike(ranks, facts | job.hashes))
    return job


def form_groups(settings, ranks):
    """Let each `model_ranks` of the ranks share a model, and each have a GPU if it needs one. Returns messages.

    Raises ConfigError if some ranks would be left over, DeviceError if some would have no GPU of their own.
    """
    count = settings.training.model_ranks

    def check():
        if ranks.size % count:
            raise ConfigError(f"model_ranks is {count}; the number of ranks, which mpiexec -n gives, must be a "
                              f"multiple of it, and is {ranks.size}")

    ranks.from_first(check)
    ranks.form_groups(count)
    return take_cards(settings.training.device, ranks)


def take_cards(device, ranks):
    ranks.from_all(lambda: check_device(device))
    if device == "cpu" or ranks.size == 1:
        return []
    hosts = ranks.gather(platform.node())
    number = hosts[: ranks.rank].count(hosts[ranks.rank])
    cards = [*zip(hosts, ranks.gather(ranks.from_all(lambda: take_card(number))), strict=True)]
    ranks.from_all(lambda: check_cards(cards))
    by_nccl = {group.use_nccl() for group in (ranks.data_group, ranks.model_group) if group.size > 1}
    way = "from GPU to GPU, by NCCL" if all(by_nccl) else "through the hosts' memory, by MPI, as CuPy finds no NCCL"
    return [f"{ranks.size} ranks have a GPU each; what they add is sent {way}"]


def check_cards(cards):
    """Raise DeviceError if two ranks have one GPU. cards: each rank's (host, PCI address)"""
    for rank, (host, address) in enumerate(cards):
        if (other := cards.index((host, address))) < rank:
            raise DeviceError(f"ranks {other} and {rank} have one GPU, {address} on {host}; each rank must have its "
                              "own: start no more ranks on a machine than it has GPUs")


def check_fit(settings, ranks):
    """Raise ConfigError unless the micro-batches of a batch can be shared evenly, in the order of the tree."""
    training, groups = settings.training, ranks.size // settings.training.model_ranks
    if settings.slices % groups:
        possible = ", ".join(str(2**power) for power in range(settings.slices.bit_length()))
        sharing = f"{groups} groups of {training.model_ranks} ranks" if groups < ranks.size else f"{groups} ranks"
        raise ConfigError(f"{sharing} cannot share the {settings.slices} micro-batches of a batch evenly "
                          f"(batch {training.batch}, micro_batch {training.micro_batch}); it must be one of {possible}")


def check_alike(ranks, facts):
    """Raise TrainError if the bits that a rank computes depend on something that rank 0 does not have."""
    if ranks.size == 1:
        return
    everyone = ranks.gather({"code": code_digest()} | facts)
    for rank, found in enumerate(everyone):
        for name in everyone[0] | found:
            if name not in MAY_DIFFER and found.get(name) != everyone[0].get(name):
                raise TrainError(f"{name} is {found.get(name, 'unknown')} on rank {rank}; it must be that of rank 0: "
                                 f"{everyone[0].get(name, 'unknown')}")


def code_digest():
    """SHA-256 of this package's source."""
    files = sorted(PACKAGE.rglob("*.py"))
    return hashlib.sha256(b"".join(read(file, "") for file in files)).hexdigest()[:12]


def begin_together(ranks, begin, job, own_code):
    """Call begin() on rank 0 only; every rank returns its result, (RunState, messages)."""
    state, messages = ranks.from_all(lambda: begin() if ranks.rank == 0 else (None, []))
    form = ranks.from_first(lambda: form_of(state))
    state = state or empty_state(*form, job, own_code)
    share_state(ranks, state)
    return state, messages


def form_of(state):
    params = state.model.params
    return state.model.config, params.shapes, params.dtype, state.fresh


def empty_state(config, shapes, dtype, fresh, job, own_code):
    """A RunState of this form, before it takes rank 0's."""
    params = Params.zeros(shapes, dtype, job.settings.training.device)
    model = Albert(config, params, **compute_of(job.settings, own_code))
    return state_of(job, model, checkpoint.SavedState(0, 0, params, Moments.zeros(params), {}), fresh)


def share_state(ranks, state):
    """Make every rank's state that of rank 0."""
    saved = ranks.from_first(lambda: state.saved()._replace(params=None, moments=None))
    if ranks.rank:
        state.take(saved._replace(params=state.model.params, moments=state.moments))
    for vector in (state.model.params, *state.moments):
        ranks.copy_first(vector.flat)


def workers_for(settings, ranks):
    """The threads of a rank: those of the settings, or its share of the machine's cores; one, if ranks share a model.

    Two threads would mix up what they exchange with the other ranks.
    """
    if settings.training.model_ranks > 1:
        return 1
    return settings.training.workers or max(1, cores() // ranks.here)


class QuietObserver(Observer):
    """The observer of ranks above 0: rank 0 reports, they only close."""

    def __init__(self, observer):
        self.close = observer.close

    def alert(self, text):
        pass


class NoMetrics:
    """The log of ranks above 0, which write none."""

    broken = ()

    def write(self, kind, **values):
        pass

    def close(self):
        pass
