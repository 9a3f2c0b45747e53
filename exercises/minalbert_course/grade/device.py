"""The pretended GPU beside a submission: a process without one has the arrays and counts how often they are read.

Arguments for it are put there before a function is called, which gets their numbers; afterwards they are read again.
"""

import itertools

import numpy as np

from ..copying import changed, copied, flat
from ..given import Given
from ..here import argument
from ..pretended_gpu import ALONE, is_for_device
from ..values import OnDevice, Stopped
from .codec import Packed
from .time_limit import STARTUP, TimeLimit


class DeviceProcess:
    """begun() gives a new process; limited(process): what its own part of a submission's limits are."""

    def __init__(self, begun, limited, seconds):
        self.begun, self.limited, self.seconds, self.process = begun, limited, seconds, None

    def ask(self, do, *args):
        return self.answer({"do": do, "args": args}, dict)["answer"]

    def pass_on(self, request):
        """The answer to a submission's request; neither is read here."""
        return self.answer(request, Packed)

    def answer(self, request, kind):
        if self.process is None:
            self.process = self.begun()
            self.process.ask(self.limited(self.process), TimeLimit(self.process, STARTUP))
        answer = self.process.ask(request, TimeLimit(self.process, self.seconds))
        if isinstance(answer, kind):
            return answer
        self.stop()
        raise Stopped("what was computed on the device took too long, or too much memory")

    def put(self, calls):
        """[args] of several calls, as the worker gets them: of what is for the device, its number there."""
        waiting = [value for args in calls for value in args if is_for_device(value)]
        if not waiting:
            return calls
        described = iter(self.ask("put_all", [(arrays_of(value), *value.args[1:]) for value in waiting]))
        return [tuple(there(value, described) for value in args) for args in calls]

    def read(self, calls):
        """(result, arguments that are not as they were put there) of several calls; all are read in one request.

        calls: [(arguments, as the worker got them, result)]
        """
        if self.process is None:
            return [(result, []) for _, _, result in calls]
        wanted = [number for _, given, result in calls for number in (*returned(result), *there_before(given))]
        arrays = self.ask("fetch_all", wanted) if wanted else []
        if not isinstance(arrays, list):
            raise ValueError("the number of no array")
        arrays = iter(arrays)
        return [(with_numbers(result, arrays), changed_there(*put, arrays)) for *put, result in calls]

    def stop(self):
        process, self.process = self.process, None
        if process is not None:
            process.stop()


def arrays_of(given):
    array = given.args[0]
    return [array] if given.kind in ALONE else list(array)


def there(value, described):
    """described: of each that was put, one after the other, how the device describes it"""
    return Given.of("there", next(described), value.kind) if is_for_device(value) else value


def numbers_of(given):
    """Those of what was put there, or none."""
    is_there = isinstance(given, Given) and given.kind == "there"
    return [description["array"][0] for description in given.args[0]] if is_there else []


def there_before(given):
    """The numbers of all arguments that were put there."""
    return [number for value in given for number in numbers_of(value)]


def returned(value):
    """The numbers of arrays on the device in a result."""
    if isinstance(value, OnDevice):
        return [value.host]
    several = type(value) in (tuple, list) and not flat(value)
    return [number for part in value for number in returned(part)] if several else []


def with_numbers(value, arrays):
    """A result, in which arrays of the device have their numbers."""
    if isinstance(value, OnDevice):
        return OnDevice(next(arrays))
    return type(value)(with_numbers(part, arrays) for part in value) if type(value) in (tuple, list) else value


def changed_there(args, given, arrays):
    """Which arguments, in words, are no longer what was put."""
    now = [list(itertools.islice(arrays, len(numbers_of(one)))) for one in given]
    return [argument(i + 1) for i, value in enumerate(args)
            if is_for_device(value) and changed(copied(list(map(np.asarray, arrays_of(value)))), now[i])]  # fmt: skip
