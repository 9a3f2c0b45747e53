"""The pretended GPU beside a submission: a process without one has the arrays and counts how often they are read.

Arguments for it are put there before a function is called, which gets their numbers; afterwards they are read again.
"""

import itertools

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

    def put(self, calls):
        """[(args, static)] of several calls, as the worker gets them: of what is for the device, its number there."""
        waiting = [value for args, _ in calls for value in args if is_for_device(value)]
        if not waiting:
            return calls
        described = iter(self.ask("put_all", [(arrays_of(value), *value.args[1:]) for value in waiting]))
        return [(tuple(there(value, described) for value in args), static) for args, static in calls]

    def read(self, calls):
        """(result, arguments that are not as they were put there) of several calls; all are read in one request.

        calls: [(arguments, as the worker got them, result)]
        """
        if self.process is None:
            return [(result, []) for _, _, result in calls]
        wanted = [number for _, given, result in calls for number in (*numbers_in(result), *numbers_in(given))]
        arrays = self.ask("fetch_all", wanted) if wanted else []
        if len(arrays) != len(wanted):
            raise ValueError("the number of no array")
        arrays = iter(arrays)
        return [(with_numbers(result, arrays), changed_arguments(*put, arrays)) for *put, result in calls]

    def stop(self):
        process, self.process = self.process, None
        if process is not None:
            process.stop()


def is_for_device(value):
    return isinstance(value, Given) and value.kind in KINDS


def arrays_of(given):
    array = given.args[0]
    return [array] if given.kind == "on the device" else list(array)


def there(value, described):
    """described: of each that was put, one after the other, how the device describes it"""
    return Given.of("there", next(described), value.kind == "on the device") if is_for_device(value) else value


def numbers_in(value):
    """Of arrays on the device, in what was put there, and in what the worker returned."""
    if isinstance(value, OnDevice):
        yield value.host
    elif isinstance(value, Given) and value.kind == "there":
        yield from (description["array"][0] for description in value.args[0])
    elif type(value) in (tuple, list) and not flat(value):
        for part in value:
            yield from numbers_in(part)


def with_numbers(value, arrays):
    """A result, in which arrays of the device have their numbers."""
    if isinstance(value, OnDevice):
        return OnDevice(next(arrays))
    return type(value)(with_numbers(part, arrays) for part in value) if type(value) in (tuple, list) else value


def changed_arguments(args, given, arrays):
    """Which arguments, in words, are no longer what was put."""
    now = [list(itertools.islice(arrays, len(list(numbers_in(one))))) for one in given]
    return [argument(i + 1) for i, value in enumerate(args)
            if is_for_device(value) and changed(copied(list(map(np.asarray, arrays_of(value)))), now[i])]  # fmt: skip
