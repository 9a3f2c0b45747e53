"""A submission in a worker, as a check's host: call by call, each with an end."""

import threading
import time
import weakref
from pathlib import Path
from typing import NamedTuple

from ..drawn import drawn, received
from ..values import CacheOf, OutOfTime, Step, Stopped
from . import codec
from .device import DeviceProcess
from .pipes import Ended, Late
from .process import WorkerProcess
from .steps import JUNK, Asked, Sent, of_one_message, opened
from .tasks import task_of
from .time_limit import CLOCK, STARTUP, TimeLimit

TOGETHER = 64                                        # calls in one question, at most
RUNNING = 4                                          # calls' time for the file itself, which may import much
OWN = 1024                                           # MB of address space that Python and NumPy take themselves
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
        self.remark, self.fences, self.endless, self.alone = "", [], {}, set()
        self.stateless = False                       # do its functions keep nothing, as far as their text shows?
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
            begun = self.ask(task, "starting Python", TimeLimit(self.worker, STARTUP))
            self.fences, self.stateless = begun["fences"], begun["stateless"]
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
        done = 0
        if (quick := drawn(many, opaque)) and name not in self.alone:
            for answer in self.calls_of_generators(name, quick):
                yield answer
                done += 1
        yield from self.each_call(name, many[done:], opaque)

    def calls_of_generators(self, name, quick):
        """As `calls` of the first seeds of a `Seeded`, up to those that were asked together with one that ends so."""
        done = 0
        while done < len(quick.seeds):
            (answer,) = self.in_turn([Step(name, quick.sent(done, done + TOGETHER), {}, [])])
            results, written = (None, None) if isinstance(answer, Exception) else answer
            if not isinstance(results, list) or not 0 < len(results) <= TOGETHER:
                return
            yield from ((result, [] if i else written) for i, result in enumerate(results))
            done += len(results)

    def each_call(self, name, many, opaque):
        for answer in self.in_turn([Step(name, args, static, opaque) for args, static in many], goes_on=False):
            if isinstance(answer, Exception):
                raise answer
            yield answer

    def in_turn(self, steps, goes_on=True):
        """(result, what was written into) of each step, or the NotWritten or Stopped with which it ended.

        Many are asked in one question: to wait takes longest. Where that ends the worker, each of them is asked alone,
        and so is every later call of these functions.
        Nothing is asked before a check asks it: a submission can read what waits for it, and the arguments of a later
        call may hold the answer to an earlier one.
        goes_on: are steps made after one that ends so?
        """
        steps = self.numbered(steps)
        done, most = 0, TOGETHER
        while done < len(steps):
            some = steps[done : done + (1 if steps[done].name in self.alone else most)]
            try:
                answers = self.together(some, goes_on)
            except Stopped as error:
                if len(some) > 1:
                    self.alone |= {step.name for step in some}
                    continue
                answers = [error]
            most = min(most, len(answers)) if len(answers) < len(some) else most         # the others take as long
            done += len(answers)
            yield from answers

    def numbered(self, steps):
        """An Asked of each: caches have numbers, which are known before."""
        found = []
        for name, args, static, opaque in steps:
            args = tuple(found[arg.step].cache(arg.part) if isinstance(arg, CacheOf) else arg for arg in args)
            found.append(Asked(name, args, static, opaque, self.caches, codec.packed((args, static))))
            self.caches += len(opaque)
        return found

    def together(self, some, goes_on):
        """The answers of the first of these steps, or of all."""
        names = {step.name for step in some}
        for name in names & self.endless.keys():
            raise OutOfTime(self.endless[name])
        if self.left <= 0:
            raise OutOfTime(self.used_up)
        if self.worker is None:                      # an earlier call ended it
            try:
                self.start()
            except Refused as error:
                raise Stopped(str(error)) from error
        sent = of_one_message(list(map(Sent.of, some, self.device.put([step.args for step in some]))))
        question = {"steps": [one.question for one in sent], "goes on": goes_on}
        what = " or ".join(sorted(names))
        try:
            answers = self.answer(question, what, min(self.limits.call, self.left)).get("answers")
        except OutOfTime as error:
            if len(sent) == 1 and not received(sent[0].args):
                self.endless |= dict.fromkeys(names, str(error))
            raise
        begun = time.monotonic()
        try:
            codec.check_text(answers)
            return self.returned(list(map(opened, answers[: len(sent)])), sent) or answers[0]
        except (*JUNK, codec.CodecError):
            self.stop()
            raise Stopped(f"{what} did not answer as a function does") from None
        finally:
            self.clock += time.monotonic() - begun   # to unpack what was sent takes time as well

    def returned(self, answers, sent):
        """(result, what was written into) of each; errors as they are."""
        pairs = list(zip(answers, sent, strict=False))
        read = iter(self.device.read([(one.step.args, one.args, answer["result"])
                                      for answer, one in pairs if isinstance(answer, dict)]))  # fmt: skip
        return [one.returned(answer, *next(read)) if isinstance(answer, dict) else answer for answer, one in pairs]

    def answer(self, question, name, seconds):
        """The worker's answer; what it asks of the pretended GPU before is done there."""
        limit = TimeLimit(self.worker, seconds)
        answer = self.ask(question, name, limit, (dict, codec.Packed))
        while isinstance(answer, codec.Packed):
            try:
                passed_on = self.device.pass_on(answer)
            except Stopped:                          # the worker still waits, and would take the next question for it
                self.stop()
                raise
            answer = self.ask(passed_on, name, limit, (dict, codec.Packed))
        return answer

    def ask(self, question, what, limit, kinds=dict):
        """The worker's answer; Stopped where there is none in time, or one of another kind."""
        processor, clock = limit.processor, limit.clock
        answer = self.worker.ask(question, limit)
        self.processor, self.clock = self.processor + limit.processor - processor, self.clock + limit.clock - clock
        if isinstance(answer, kinds):
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
