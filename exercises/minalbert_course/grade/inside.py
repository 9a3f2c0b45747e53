"""What a submission's process does: it runs a file, and then, call by call, one of its functions.

It knows no right answers, and of the library it has only what the exercise's file imports (`offered`). What the
submission prints goes nowhere; the pipe to the grader is another one, and says only what codec can say.

A task without a file makes the process the pretended GPU of exercise 12, whose memory is out of a submission's reach.
"""

import importlib
import itertools
import os
import sys
import threading
import time
import warnings

from .. import files, unfilled
from ..copying import changed, copied, flat
from ..device_memory import DeviceMemory
from ..drawn import received
from ..given import Given
from ..here import Here
from ..shared_memory import MEMORY_OF
from ..state.stateless import is_stateless
from ..values import NotWritten, Opaque, Stopped
from . import codec, collecting, fence, offered

MOMENT = 0.1                                         # seconds after which calls are left to the next question


def serve(fences):
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)

    def read():
        text, body = codec.sizes(incoming.read(codec.HEAD.size))
        return codec.loads(incoming.read(text + body), text)

    def write(message):
        outgoing.write(codec.dumps(message))
        outgoing.flush()

    try:
        task = read()
        kind = Worker if "path" in task else Device
        kind(read, write, task).serve(fences)
    except (EOFError, OSError, codec.struct.error):
        pass                                         # the grader is done


class Process:
    def __init__(self, read, write, task):
        self.read, self.write, self.task = read, write, task

    def enclose(self, fences):
        limits = self.task["folder"], self.task["seconds"], self.task["megabytes"]
        raised = fence.raise_fences(*limits)
        collecting.begin()                           # only now: a thread has the fences of the one that starts it
        return fences + raised


class Device(Process):
    def serve(self, fences):
        memory = DeviceMemory()
        self.write({"fences": self.enclose(fences)})
        while True:
            request = self.read()
            if isinstance(request, codec.Packed):        # of the submission
                self.write(codec.packed(self.answer(memory.do, codec.unpacked(request))))
            else:
                self.write({"answer": self.answer(getattr(memory, request["do"]), request["args"])})

    def answer(self, function, args):
        try:
            return function(*args)
        except (LookupError, TypeError) as error:    # the number of no array
            return {"error": ["RuntimeError"], "text": str(error)}


class Worker(Process):
    def serve(self, fences):
        self.caches, task = {}, self.task
        if task["makers"]:
            self.prepare(task["makers"])
        offered.offer(task["imports"], task["withheld"], task["stars"])
        fences = self.enclose(fences)
        stateless = is_stateless(task["path"], task["functions"])    # before the file is run, and could lie
        self.write({"fences": fences, "stateless": stateless})
        for name in [name for name in sys.modules if name.startswith("minalbert_course.")]:
            if name not in task["imports"]:
                del sys.modules[name]
        unfilled.put(unfilled.MARKING)
        self.read()                                  # only now the clock of the submission itself begins
        try:
            self.namespace, remark = files.run(task["path"])
        except ValueError as error:                  # a CourseError: no text, no notebook
            self.namespace, remark = {}, str(error)
        there = [name for name in task["functions"] if callable(self.namespace.get(name))]
        self.write({"remark": remark, "functions": there})
        host = HereByBytes(self.made, task["path"], task["own results"], stateless)
        while True:
            asked = self.read()
            with warnings.catch_warnings(action="ignore"):           # once, for it takes time
                answer = self.answer(host, asked)
            self.write(answer)

    def prepare(self, exercise):
        """What the checks of this exercise hand to functions."""
        makers = importlib.import_module(f"minalbert_course.makers.{exercise}")
        if hasattr(makers, "pretended_gpu"):
            makers.pretended_gpu.use(Remote(self.read, self.write))
        if hasattr(makers, "warm_up"):
            makers.warm_up()

    def answer(self, host, asked):
        """Those of the first steps, packed, as many as take no more than a MOMENT and are not LARGE; of one that
        stops what is to be said of it, and nothing after it if the grader would not go on."""
        answers, end, size = [], time.monotonic() + MOMENT, 0
        for step in asked["steps"]:
            answers.append(answer := self.answer_of_one(host, *step))
            size += len(answer)
            if size > codec.LARGE or time.monotonic() > end or (isinstance(answer, dict) and not asked["goes on"]):
                break
        return {"answers": answers}

    def answer_of_one(self, host, name, given, opaque, first):
        """first: the number of the first cache that it returns"""
        try:
            host.namespace = {name: self.namespace.get(name)}
            args, static = host.receive(given)
            if several := received(args):
                return self.answer_of_several(host, name, several)
            result, written = host.call(name, args, static, opaque)
            result = self.wrapped(result, itertools.count(first))
            return codec.packed({"result": result, "written": written, "after": host.after})
        except NotWritten as error:
            return {"error": "not written", "text": str(error)}
        except Stopped as error:
            return {"error": "stopped", "text": str(error)}
        except BaseException as error:               # KeyboardInterrupt, a number of 5000 digits, a class of its own
            return {"error": "stopped", "text": f"{name} stopped: {type(error).__name__}"}

    def answer_of_several(self, host, name, quick):
        """That of the first calls with the generators of a `Seeded`, as many as take no more than a MOMENT"""
        results, written, end = [], {}, time.monotonic() + MOMENT
        for result, wrote in host.calls_of_generators(name, quick):
            results.append(result)
            written |= dict.fromkeys(wrote)
            if time.monotonic() > end:
                break
        arguments_first = sorted(written, key=lambda what: what.startswith(MEMORY_OF))
        return codec.packed({"result": results, "written": arguments_first, "after": None})

    def wrapped(self, result, numbers):
        """Caches stay here; the grader gets their numbers."""
        if isinstance(result, Opaque):
            number = next(numbers)
            self.caches[number] = result.value
            return Opaque(number)
        return tuple(self.wrapped(part, numbers) for part in result) if type(result) is tuple else result

    def made(self, value):
        """A value with a cache in it, or with what is made here, as the function gets it."""
        if isinstance(value, Opaque):
            if value.value not in self.caches:
                raise Stopped("its cache is lost: the process that had it has ended, or no cache was returned")
            return self.caches[value.value]
        if isinstance(value, Given):
            return value.make()
        if not special(value):
            return value
        parts = map(self.made, value.values() if isinstance(value, dict) else value)
        return dict(zip(value, parts, strict=True)) if isinstance(value, dict) else type(value)(parts)


class HereByBytes(Here):
    """Here, where arguments that are plain values are as they were if their bytes are; made: see `Worker.made`.

    The function gets what was unpacked itself: no other code has these arrays, so that none is copied.
    after: the arguments after a call, if other bytes than came; of what is not plain values, what was sent
    """

    def __init__(self, made, path="", own_results=None, stateless=False):
        super().__init__({}, path, own_results=own_results, stateless=stateless)
        self.made = made

    def receive(self, given):
        self.given, self.sent = given, codec.unpacked(given)
        args, static = self.sent
        self.special = [special(value) for value in (*args, *static.values())]
        return self.sent

    def call_alone(self, name, args):
        return self.call(name, *self.receive(codec.packed((args, {}))), [])

    def around_a_call(self):
        return warnings.catch_warnings()             # the rest is done once for many calls

    def handed_over(self, args, static):
        if not any(self.special):
            return args, static
        values = zip((*args, *static.values()), self.special, strict=True)
        values = [self.made(value) if is_special else value for value, is_special in values]
        return tuple(values[: len(args)]), dict(zip(static, values[len(args) :], strict=True))

    def arguments_before(self, given, names, sent):
        self.names = names
        if not any(self.special):
            return {}
        some = {name for name, is_special in zip(names, self.special, strict=True) if is_special}
        return super().arguments_before({name: value for name, value in given.items() if name in some}, names, sent)

    def changed_arguments(self, before, given, values):
        found = super().changed_arguments(before, given, values)
        self.after = after if (after := self.packed(values)) != self.given else None
        if self.after:
            args, static = codec.unpacked(self.given)
            of_each = zip(self.names, self.special, (*args, *static.values()), values, strict=True)
            found += [name for name, is_special, old, new in of_each if not is_special and changed(copied(old), new)]
        return found

    def packed(self, values):
        args, static = self.sent
        of_each = zip(self.special, (*args, *static.values()), values, strict=True)
        now = [sent if is_special else value for is_special, sent, value in of_each]
        return codec.packed((tuple(now[: len(args)]), dict(zip(static, now[len(args) :], strict=True))))


def special(value):
    """True if there is anything in it but plain values: a cache, or what is made here."""
    if isinstance(value, Opaque | Given):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return not flat(parts) and any(map(special, parts))


class Remote:
    """The memory of the pretended GPU, which the grader keeps elsewhere: each request goes there and is answered."""

    def __init__(self, read, write):
        self.read, self.write, self.one = read, write, threading.Lock()

    def do(self, *request):
        with self.one:
            self.write(codec.packed(request))
            return codec.unpacked(self.read())

    def fetch(self, number):
        """The grader fetches it itself."""
        return number
