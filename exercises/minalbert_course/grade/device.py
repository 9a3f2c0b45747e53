"""The pretended GPU beside a submission: a process without one has the arrays and counts how often they are read.

Arguments for it are put there before a function is called, which gets their numbers; afterwards they are read again.
"""

import numpy as np

from ..given import Given
from ..here import argument, changed, copied, flat
from ..values import OnDevice, Stopped
from .time_limit import STARTUP, TimeLimit

KINDS = {"on the device", "numbers on the device"}   # what is put there, and its number handed over


class Device:
    """begun() gives a new process; limited(process): what its own part of a submission's limits are."""

    def __init__(self, begun, limited, seconds):
        self.begun, self.limited, self.seconds, self.process = begun, limited, seconds, None

    def ask(self, do, *args):
        if self.process is None:
            self.process = self.begun()
            self.process.ask(self.limited(self.process), TimeLimit(self.process, STARTUP))
        answer = self.process.ask({"do": do, "args": args}, TimeLimit(self.process, self.seconds))
        if isinstance(answer, dict):
            return answer["answer"]
        self.stop()
        raise Stopped("what was computed on the device took too long, or too much memory")

    def put(self, value):
        """The arguments of several calls, as the worker gets them: of an array of the device its number."""
        waiting = list(for_device(value))
        if not waiting:
            return value
        described = iter(self.ask("put_all", [(arrays_of(given), *given.args[1:]) for given in waiting]))
        return put(value, described)

    def changed(self, args, given):
        """Which arguments on the device are not as they were put there. given: as the worker got them"""
        there = [(i, arrays_of(old), new.args[0]) for i, (old, new) in enumerate(zip(args, given, strict=True))
                 if is_for_device(old)]  # fmt: skip
        if not there:
            return []
        numbers = [description["array"][0] for _, _, descriptions in there for description in descriptions]
        now = iter(self.ask("fetch_all", numbers))
        return [argument(i + 1) for i, arrays, _ in there
                if changed(copied([np.asarray(array) for array in arrays]), [next(now) for _ in arrays])]  # fmt: skip

    def fetched(self, value):
        """A result, with the numbers of what is on the device."""
        if isinstance(value, OnDevice):
            return OnDevice(self.ask("fetch", value.host))
        return type(value)(map(self.fetched, value)) if type(value) in (tuple, list) and not flat(value) else value

    def stop(self):
        process, self.process = self.process, None
        if process is not None:
            process.stop()


def is_for_device(value):
    return isinstance(value, Given) and value.kind in KINDS


def for_device(value):
    if is_for_device(value):
        yield value
    elif isinstance(value, dict) or (type(value) in (tuple, list) and not flat(value)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from for_device(part)


def arrays_of(given):
    array = given.args[0]
    return [array] if given.kind == "on the device" else list(array)


def put(value, described):
    """described: of what is met, one after the other, how the device describes it"""
    if is_for_device(value):
        return Given.of("there", next(described), value.kind == "on the device")
    if isinstance(value, dict):
        return {key: put(part, described) for key, part in value.items()}
    return type(value)(put(part, described) for part in value) if type(value) in (tuple, list) else value
