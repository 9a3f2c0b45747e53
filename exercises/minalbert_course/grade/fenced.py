"""A submission in a worker, as a check's host: call by call, each with an end."""

import itertools
import threading
import weakref
from pathlib import Path
from typing import NamedTuple

from ..here import MEMORY_OF, argument, changed, copied
from ..values import CacheOf, NotWritten, Opaque, OutOfTime, Step, Stopped
from . import codec
from .device import DeviceProcess
from .pipes import Ended, Late
from .process import WorkerProcess
from .tasks import task_of
from .time_limit import CLOCK, STARTUP, TimeLimit

TOGETHER = 64                                        # calls in one question, at most
RUNNING = 4                                          # calls' time for the file itself, which may import much
OWN = 1024                                           # MB of address space that Python and NumPy take themselves
JUNK = (TypeError, ValueError, AttributeError, LookupError)
hosts = weakref.WeakSet()                            # for an interrupt to close


class SubmissionLimits(NamedTuple):
    call: float = 10.0                               # seconds of processor time of one call
    all: float = 120.0                               # of all calls
    memory: int = 1024                               # MB


class Asked(NamedTuple):
    """A step, its caches as numbers; those that it returns have numbers from `first` on."""

    step: Step
    first: int

    def cache(self, part):
        return Opaque(self.first + self.step.opaque.index(part))


class Sent(NamedTuple):
    """A step as the worker gets it: args and static, of which what is on the device is a number there."""

    step: Step
    first: int
    args: tuple
    static: dict
    packed: codec.Packed

    @property
    def question(self):
        return self.step.name, self.packed, self.step.opaque, self.first

    def returned(self, answer, result, on_device):
        """(result, what was written into) from a worker's answer. on_device: arguments there that were written into"""
        written = [str(what) for what in answer["written"]]
        shared = [what for what in written if what.startswith(MEMORY_OF)]
        wrote = written[: len(written) - len(shared)]
        if not wrote and answer["after"] != self.packed:
            wrote = differing((self.args, self.static), codec.unpacked(answer["after"]))
        return result, (wrote or on_device) + shared


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
        self.worker, self.closed, self.one = None, False, threading.RLock()
        self.device = DeviceProcess(self.begun, self.limited, limits.call)
        self.caches = 0                              # that functions have returned, or could have
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
        """(result, what was written into) of each, up to one that ends with NotWritten or Stopped, which is raised."""
        for answer in self.in_turn([Step(name, args, static, opaque) for args, static in many], goes_on=False):
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def in_turn(self, steps, goes_on=True):
        """(result, what was written into) of each step, or the NotWritten or Stopped with which it ended.

        Many are asked in one question: to wait takes longest. Where that ends the worker, each of them is asked alone.
        goes_on: are steps made after one that ends so?
        """
        steps, done, alone, most = self.numbered(steps), 0, 0, TOGETHER
        while done < len(steps):
            some = steps[done : done + (1 if done < alone else most)]
            try:
                answers = self.together(some, goes_on)
            except Stopped as error:
                if goes_on and len(some) > 1:
                    alone = done + len(some)
                    continue
                answers = [error]
            most = min(most, len(answers)) if len(answers) < len(some) else most         # the others take as long
            done += len(answers)
            yield from answers

    def numbered(self, steps):
        """An Asked of each: caches have numbers, which are known before."""
        found = []
        for step in steps:
            args = (found[arg.step].cache(arg.part) if isinstance(arg, CacheOf) else arg for arg in step.args)
            found.append(Asked(step._replace(args=tuple(args)), self.caches))
            self.caches += len(step.opaque)
        return found

    def together(self, some, goes_on):
        """The answers of the first of these steps, or of all."""
        names = {step.name for step, _ in some}
        for name in names & self.endless.keys():
            raise OutOfTime(self.endless[name])
        if self.left <= 0:
            raise OutOfTime(self.used_up)
        if self.worker is None:                      # an earlier call ended it
            try:
                self.start()
            except Refused as error:
                raise Stopped(str(error)) from error
        given = self.device.put([(step.args, step.static) for step, _ in some])
        sent = of_one_message([Sent(*asked, *one, codec.packed(one)) for asked, one in zip(some, given, strict=True)])
        question = {"steps": [one.question for one in sent], "goes on": goes_on}
        what = " or ".join(sorted(names))
        try:
            answers = self.answer(question, what, min(self.limits.call, self.left)).get("answers")
        except OutOfTime as error:
            if len(sent) == 1 or not goes_on:
                self.endless |= dict.fromkeys(names, str(error))
            raise
        try:
            return self.returned(list(map(opened, answers[: len(sent)])), sent) or answers[0]
        except (*JUNK, codec.CodecError):
            self.stop()
            raise Stopped(f"{what} did not answer as a function does") from None

    def returned(self, answers, sent):
        """(result, what was written into) of each; errors as they are."""
        pairs = list(zip(answers, sent, strict=False))
        read = iter(self.device.read([(one.step.args, one.args, answer["result"])
                                      for answer, one in pairs if isinstance(answer, dict)]))  # fmt: skip
        return [one.returned(answer, *next(read)) if isinstance(answer, dict) else answer for answer, one in pairs]

    def answer(self, question, name, seconds):
        """The worker's answer; what it asks of the pretended GPU before is done there."""
        limit = TimeLimit(self.worker, seconds)
        while True:
            answer = self.ask(question, name, limit)
            if "device" not in answer:
                return answer
            try:
                question = {"answer": self.device.ask("do", *answer["device"])}
            except JUNK:
                self.stop()
                raise Stopped(f"{name} did not answer as a function does") from None

    def ask(self, question, what, limit):
        """The worker's answer, a dict; Stopped where there is none in time."""
        processor, clock = limit.processor, limit.clock
        answer = self.worker.ask(question, limit)
        self.processor, self.clock = self.processor + limit.processor - processor, self.clock + limit.clock - clock
        if isinstance(answer, dict):
            return answer
        self.stop()
        if isinstance(answer, Late):
            raise OutOfTime(f"{what} {answer.how}" if self.left > 0 else self.used_up)
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
            try:
                self.stop()
            finally:
                self.device.stop()


def stop_all():
    for host in list(hosts):
        host.close()


def of_one_message(sent):
    """The first of these steps, as many as are not too much for one message."""
    sizes = itertools.accumulate(len(one.packed) for one in sent)
    return [one for i, (one, size) in enumerate(zip(sent, sizes, strict=True)) if not i or size <= codec.LARGE]


def opened(answer):
    """What a call returned, a dict, or the error that it ended with."""
    if isinstance(answer, dict):
        return (NotWritten if answer["error"] == "not written" else Stopped)(str(answer["text"]))
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
