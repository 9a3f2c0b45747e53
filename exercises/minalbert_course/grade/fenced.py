"""A submission in a worker, as a check's host: call by call, each with an end."""

import threading
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..given import Given
from ..here import MEMORY_OF, changed, copied, flat
from ..values import NotWritten, OnDevice, OutOfTime, Stopped
from . import codec
from .pipes import Ended, Late
from .process import WorkerProcess
from .tasks import task_of
from .time_limit import CLOCK, TimeLimit

STARTUP = 60                                         # seconds to import NumPy
TOGETHER = 16                                        # calls in one question, which has the time of one
RUNNING = 4                                          # calls' time for the file itself, which may import much
OWN = 1024                                           # MB of address space that Python and NumPy take themselves
DEVICE = {"on the device", "numbers on the device"}  # what is put into the pretended GPU, and its number handed over
JUNK = (TypeError, ValueError, AttributeError, LookupError)
hosts = weakref.WeakSet()                            # for an interrupt to close


class SubmissionLimits(NamedTuple):
    call: float = 10.0                               # seconds of processor time of one call
    all: float = 120.0                               # of all calls
    memory: int = 1024                               # MB


class Refused(Exception):
    """The file could not be run at all; the text says why."""


class Fenced:
    """with Fenced(lesson, path) as host: mark(lesson, host, term)

    new_worker: makes a WorkerProcess, or another with its methods; by default a WorkerProcess.
    """

    def __init__(self, lesson, path, limits=SubmissionLimits(), new_worker=None):
        self.lesson, self.path, self.limits = lesson, Path(path), limits
        self.new_worker = new_worker or WorkerProcess
        self.processor, self.clock = 0.0, 0.0        # seconds that all questions took
        self.remark, self.fences, self.endless = "", [], {}
        self.worker, self.device, self.closed, self.one = None, None, False, threading.RLock()
        hosts.add(self)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error):
        self.close()

    def begun(self):
        """A new process in a new folder: of an earlier one nothing is left, whatever it wrote."""
        with self.one:
            if self.closed:
                raise Refused("the grader was interrupted")
            return self.new_worker()

    def limited(self, worker):
        return {"folder": worker.inside, "seconds": int(STARTUP + self.limits.all),
                "megabytes": OWN + self.limits.memory}  # fmt: skip

    def start(self):
        self.worker = self.begun()
        task = {"path": self.worker.take(self.path)} | self.limited(self.worker) | task_of(self.lesson)
        try:
            self.fences = self.ask(task, "starting Python", TimeLimit(self.worker, STARTUP))["fences"]
            answer = self.ask({}, f"running {self.path.name}", TimeLimit(self.worker, RUNNING * self.limits.call))
        except Stopped as error:
            raise Refused(str(error)) from error
        self.remark, there = answer.get("remark"), answer.get("functions")
        if not (isinstance(self.remark, str) and isinstance(there, list)):
            raise Refused(f"{self.path.name} did not answer as a submission does")
        if not there:
            reason = self.remark or f"{self.path.name} has none of the functions: {', '.join(self.lesson.functions)}"
            raise Refused(reason)

    def call(self, name, args, static, opaque):
        (answer,) = self.calls(name, [(args, static)], opaque)
        return answer

    def calls(self, name, many, opaque):
        """(result, what was written into) of each, some of them asked in one question: to wait takes longest."""
        for start in range(0, len(many), TOGETHER):
            yield from self.together(name, many[start : start + TOGETHER], opaque)

    def together(self, name, some, opaque):
        if name in self.endless:
            raise OutOfTime(self.endless[name])
        if self.worker is None:                      # an earlier call ended it
            try:
                self.start()
            except Refused as error:
                raise Stopped(str(error)) from error
        if self.left <= 0:
            raise OutOfTime(self.used_up)
        given = [self.put((tuple(args), static)) for args, static in some]
        sent = [codec.packed(one) for one in given]
        question = {"name": name, "given": sent, "opaque": opaque}
        answers = self.answer(question, name, min(self.limits.call, self.left)).get("answers")
        for number, (args, _) in enumerate(some):
            try:
                answer = answers[number]
                stopped = isinstance(answer, dict) and (answer["error"], str(answer["text"]))
                found = None if stopped else self.taken(codec.unpacked(answer), args, given[number], sent[number])
            except (*JUNK, codec.CodecError):
                self.stop()
                raise Stopped(f"{name} did not answer as a function does") from None
            if stopped:
                raise (NotWritten if stopped[0] == "not written" else Stopped)(stopped[1])
            yield found

    def taken(self, answer, args, given, sent):
        """(result, what was written into) from a worker's answer"""
        result, written = self.fetched(answer["result"]), [str(what) for what in answer["written"]]
        shared = [what for what in written if what.startswith(MEMORY_OF)]
        wrote = written[: len(written) - len(shared)]
        if not wrote and answer["after"].tobytes() != sent.tobytes():
            wrote = differing(given, codec.unpacked(answer["after"]))
        return result, (wrote or self.differing_there(args, given[0])) + shared

    def answer(self, question, name, seconds):
        """The worker's answer; what it asks of the pretended GPU before is done there."""
        limit = TimeLimit(self.worker, seconds)
        while True:
            answer = self.ask(question, name, limit)
            if "device" not in answer:
                return answer
            try:
                question = {"answer": self.on_device("do", *answer["device"])}
            except JUNK:
                self.stop()
                raise Stopped(f"{name} did not answer as a function does") from None

    def on_device(self, do, *args):
        """The pretended GPU is a process without a submission: it has the arrays and counts how often they are read."""
        if self.device is None:
            self.device = self.begun()
            self.device.ask(self.limited(self.device), TimeLimit(self.device, STARTUP))
        answer = self.device.ask({"do": do, "args": args}, TimeLimit(self.device, self.limits.call))
        if isinstance(answer, dict):
            return answer["answer"]
        device, self.device = self.device, None
        device.stop()
        raise Stopped("what was computed on the device took too long, or too much memory")

    def put(self, value):
        """Arguments as the worker gets them: of an array of the device its number."""
        if codec.plain_lists(value):
            return value
        if is_there(value):
            array, transfers = (*value.args, None)[:2]
            alone = value.kind == "on the device"
            return Given.of("there", self.on_device("put", [array] if alone else list(array), transfers), alone)
        if isinstance(value, dict):
            return {key: self.put(part) for key, part in value.items()}
        return type(value)(map(self.put, value)) if type(value) in (tuple, list) and not flat(value) else value

    def differing_there(self, args, given):
        """Which arguments on the device are not as they were put there."""
        pairs = enumerate(zip(args, given, strict=True))
        return [f"its argument {i + 1}" for i, (old, new) in pairs if is_there(old) and not self.as_put(old, new)]

    def as_put(self, old, new):
        descriptions, alone = new.args
        before = [old.args[0]] if alone else list(old.args[0])
        numbers = [description["array"][0] for description in descriptions]
        return alike([np.asarray(array) for array in before], self.on_device("fetch_all", numbers))

    def fetched(self, value):
        if isinstance(value, OnDevice):
            return OnDevice(self.on_device("fetch", value.host))
        return type(value)(map(self.fetched, value)) if type(value) in (tuple, list) and not flat(value) else value

    def ask(self, question, what, limit):
        """The worker's answer, a dict; Stopped where there is none in time."""
        processor, clock = limit.processor, limit.clock
        answer = self.worker.ask(question, limit)
        self.processor, self.clock = self.processor + limit.processor - processor, self.clock + limit.clock - clock
        if isinstance(answer, dict):
            return answer
        self.stop()
        if isinstance(answer, Late):
            self.endless[what] = f"{what} {answer.how}" if self.left > 0 else self.used_up
            raise OutOfTime(self.endless[what])
        raise Stopped(f"{what} {answer.how if isinstance(answer, Ended) else 'sent junk'}")

    @property
    def left(self):
        return self.limits.all - max(self.processor, self.clock / CLOCK)

    @property
    def used_up(self):
        return f"the submission has used up its {self.limits.all:g} seconds of processor time"

    def stop(self):
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()

    def close(self):
        """Nothing is left, and nothing is started any more."""
        with self.one:
            self.closed = True
            device, self.device = self.device, None
            try:
                self.stop()
            finally:
                if device is not None:
                    device.stop()


def is_there(value):
    return isinstance(value, Given) and value.kind in DEVICE


def stop_all():
    for host in list(hosts):
        host.close()


def differing(given, after):
    """Which arguments are not as they were, by what the worker has of them after the call."""
    (args, static), (new_args, new_static) = given, after
    pairs = [(f"its argument {i + 1}", old, new) for i, (old, new) in enumerate(zip(args, new_args, strict=True))]
    pairs += [(f"its argument {name}", old, new_static[name]) for name, old in static.items()]
    return [name for name, old, new in pairs if not alike(copied(old), new)]


def alike(old, new):
    try:
        return not changed(old, new)
    except JUNK:
        return False
