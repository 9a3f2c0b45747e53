"""Steps as a worker is asked them: with numbers for caches, as bytes, and with what became of the arguments."""

import itertools
from typing import NamedTuple

from ..copying import changed, copied
from ..here import argument
from ..shared_memory import MEMORY_OF
from ..values import NotWritten, Opaque, Stopped
from . import codec

JUNK = (TypeError, ValueError, AttributeError, LookupError, RecursionError)


class Asked(NamedTuple):
    """A step, its caches as numbers; those that it returns have numbers from `first` on."""

    name: str
    args: tuple
    static: dict
    opaque: list
    first: int
    packed: codec.Packed                             # args and static

    def cache(self, part):
        return Opaque(self.first + self.opaque.index(part))


class Sent(NamedTuple):
    """A step as the worker gets it: of arguments that are on the device, their numbers there."""

    step: Asked
    args: tuple
    packed: codec.Packed

    @classmethod
    def of(cls, step, args):
        return cls(step, args, step.packed if args is step.args else codec.packed((args, step.static)))

    @property
    def question(self):
        return self.step.name, self.packed, self.step.opaque, self.step.first

    def returned(self, answer, result, on_device):
        """(result, what was written into) from a worker's answer. on_device: arguments there that were written into"""
        written = list(map(text, answer["written"]))
        shared = [what for what in written if what.startswith(MEMORY_OF)]
        wrote = written[: len(written) - len(shared)]
        if not wrote and answer["after"]:
            wrote = differing((self.args, self.step.static), codec.unpacked(answer["after"]))
        return result, (wrote or on_device) + shared


def of_one_message(sent):
    """The first of these steps, as many as are not too much for one message."""
    sizes = itertools.accumulate(len(one.packed) for one in sent)
    return [one for i, (one, size) in enumerate(zip(sent, sizes, strict=True)) if not i or size <= codec.LARGE]


def text(value):
    """A text that a worker sent; what is none would take long to write, or say what the grader alone says."""
    if not isinstance(value, str):
        raise codec.CodecError("no text where one belongs")
    return value


def opened(answer):
    """What a call returned, a dict, or the error that it ended with."""
    if isinstance(answer, dict):
        return (NotWritten if answer["error"] == "not written" else Stopped)(text(answer["text"]))
    if not isinstance(returned := codec.unpacked(answer), dict):
        raise codec.CodecError("an answer without names")
    return returned


def differing(given, after):
    """Which arguments are not as they were, by what the worker has of them after the call."""
    (args, static), (new_args, new_static) = given, after
    pairs = [(argument(i + 1), old, new) for i, (old, new) in enumerate(zip(args, new_args, strict=True))]
    pairs += [(argument(name), old, new_static[name]) for name, old in static.items()]
    return [name for name, old, new in pairs if not alike(copied(old), new)]


def alike(old, new):
    try:
        return not changed(old, new)
    except JUNK:
        return False
