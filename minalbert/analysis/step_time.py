"""The time of a training step on W machines that share its batch: a model of three terms.

    t  =  operations / (W rate)  +  2 (W - 1) / W · gradients / bandwidth  +  7 own / memory

    operations   of a forward and a backward pass over the whole batch; each machine computes its share
    gradients    their bytes. Each machine sends (W - 1) / W of them, and of the new weights (parallel/rank_sum.py)
    7 own        the optimiser reads weights, gradients and two moments, and writes weights and moments: a machine those
                 of its own tensors (parallel/tensor_shares.py). All wait for the one that has most of them

The terms are added: nothing is sent while backward runs, because a shared layer's gradient is complete only when it has
ended. Latency is left out, so are the reads and writes of activations, and all products run at one rate, however large.

Sharing reduces the second and the third term and not the first. Which of two models is faster therefore depends on how
many operations the machines compute while a byte is sent: `bandwidth_of_equal_steps`.
"""

import math
from typing import NamedTuple

from ..arguments import number, of_kind, whole
from ..config import PRESETS
from ..errors import InputError
from ..parallel.tensor_shares import shared_out
from ..params import shapes, size_of
from .cost import all_reduced_bytes, training_operations

PAPER = {                                            # table 2: how many times as fast as BERT-large
    "bert-base": 4.7, "bert-large": 1.0,
    "albert-base": 5.6, "albert-large": 1.7, "albert-xlarge": 0.6, "albert-xxlarge": 0.3,
}  # fmt: skip
SLOW, FAST = "bert-large", "albert-large"         # whose speeds the paper explains by communication
OPTIMISER = 7                                        # numbers that are read or written for each weight


class Machines(NamedTuple):
    ranks: int
    rate: float                                      # operations a second, of one
    bandwidth: float                                 # bytes a second, that one sends
    memory: float = math.inf                         # bytes a second, that one's memory reads and writes


class StepTime(NamedTuple):
    """Seconds."""

    computing: float
    sending: float
    updating: float

    @property
    def total(self):
        return sum(self)


def step_time(config, batch, length, machines):
    """The StepTime of a batch of so many sequences, of `length` tokens each."""
    of_kind("machines", machines, Machines)
    ranks, batch = whole("ranks", machines.ranks, 1), whole("batch", batch, 1)
    rate, bandwidth = (number(name, getattr(machines, name), above=0) for name in ("rate", "bandwidth"))
    operations = batch * training_operations(config, length)
    return StepTime(operations / (ranks * rate), sent_bytes(config, ranks) / bandwidth,
                    OPTIMISER * own_bytes(config, ranks) / machines.memory)  # fmt: skip


def sent_bytes(config, ranks, itemsize=4):
    """The bytes that each rank sends in a step."""
    return 2 * (ranks - 1) * all_reduced_bytes(config, itemsize) / ranks


def own_bytes(config, ranks, itemsize=4):
    """The bytes of the tensors that a rank steps, of the one that has most; twice as many are its moments."""
    table = shapes(config)
    return itemsize * max(size_of({name: table[name] for name in names}) for names in shared_out(table, ranks))


def bandwidth_of_equal_steps(one, other, batch, length, machines):
    """The bandwidth at which two models' steps take equally long; None if one is faster whatever the bandwidth."""
    fixed, sent = differences(one, other, batch, length, machines)
    return -sent / fixed if fixed * sent < 0 else None


def differences(one, other, batch, length, machines):
    """How much more of one model's step is, than of the other's, in seconds without sending, and in bytes."""
    mine, theirs = (step_time(config, batch, length, machines) for config in (one, other))
    fixed = mine.computing + mine.updating - theirs.computing - theirs.updating
    return fixed, sent_bytes(one, machines.ranks) - sent_bytes(other, machines.ranks)


def rate_of_the_paper(batch, length, machines):
    """The rate at which ALBERT-large is 1.7 times as fast as BERT-large, as in the paper.

    With times a / rate + c of BERT-large and b / rate + d of ALBERT-large, (a / rate + c) = 1.7 (b / rate + d).
    `machines.rate` has no effect.
    """
    slow, fast = (step_time(PRESETS[name], batch, length, machines._replace(rate=1.0)) for name in (SLOW, FAST))
    speed = PAPER[FAST]
    sent = slow.sending + slow.updating - speed * (fast.sending + fast.updating)
    if sent <= 0:
        raise InputError(f"ranks is {machines.ranks}; one machine sends nothing, so no rate makes {FAST} {speed} times "
                         f"as fast as {SLOW}: give a rate")
    return (speed * fast.computing - slow.computing) / sent


def table(models, batch, length, machines):
    """A dict for each {name: config}: its StepTime, and its speed beside BERT-large's, here and in the paper."""
    standard = step_time(PRESETS[SLOW], batch, length, machines)
    rows = {}
    for name, config in models.items():
        time, paper = step_time(config, batch, length, machines), PAPER.get(name)
        speed = standard.total / time.total
        rows[name] = {
            "sent_bytes": sent_bytes(config, machines.ranks),
            "moment_bytes": 2 * own_bytes(config, machines.ranks), **time._asdict(), "total": time.total,
            "speed": speed, "speed_by_operations": standard.computing / time.computing, "paper": paper,
            "unexplained": paper and paper / speed,
        }  # fmt: skip
    return rows
