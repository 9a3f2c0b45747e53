"""Processes that mark texts one after the other, each within a limit of processor time."""

import multiprocessing
import os
import queue
import signal
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minalbert_course import catalogue, files
from minalbert_course.grade.time_limit import MOMENT, ProcessorTime, TimeLimit
from minalbert_course.here import Here
from minalbert_course.marking import mark_and_explain
from minalbert_course.state.stateless import is_stateless

from .. import unchanged
from ..source import sources

SECONDS = 30.0                                       # of processor time for a text, whose solution takes one
TERM, OTHER_TERM = "mutants", "mutants once more"


class Miss(NamedTuple):
    check: str
    points: float
    of: str
    seen: str
    cause: str | None
    ran: bool                                        # did it return something to compare?


class Result(NamedTuple):
    points: float
    misses: list
    remark: str = ""


def marked(lesson, text, term=TERM, suffix=".py"):
    """The Result of a text, or of a file's bytes, marked in this process."""
    lesson = catalogue.find(lesson)
    source = next(source for source in sources() if source.lesson is lesson)
    known = unchanged.known(source, text, term) if isinstance(text, str) else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{files.stem(lesson)}{suffix}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        np.random.seed(0)                            # noqa: NPY002   (a mutant may draw from it)
        namespace, remark = files.run(path, lesson.withheld)
        host = Here(namespace, path, lesson.withheld, stateless=is_stateless(path, lesson.functions))
        marks = mark_and_explain(lesson, host, term, remark, known)
    missed = [Miss(o.check.title, o.check.points, o.of, o.seen, o.cause, o.ran) for o in marks.missed]
    return Result(marks.points, missed, marks.remark)


def serve(pipe):
    """In the worker: (function, arguments) come, what the function returns goes back, until the parent ends."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)     # it ends the parent, and is no mutant's mistake
    quiet = os.open(os.devnull, os.O_RDWR)
    os.dup2(quiet, 1)
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            answer = function(*arguments)
        except BaseException as error:               # whatever a mutant raises
            answer = f"{type(error).__name__}: {error}"
        try:
            pipe.send(answer)
        except BrokenPipeError:                      # nobody waits any more
            return


def end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


class Worker:
    def __init__(self):
        self.process = None

    def ask(self, function, arguments, seconds):
        """What the function returns, or a sentence."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            process = context.Process(target=serve, args=(theirs,), daemon=True)
            process.start()
            self.process = process                   # from here on there is something to stop
            theirs.close()
            self.used = ProcessorTime(self.process.pid)
            if (answer := self.ask(abs, (0,), 120)) != 0:    # importing takes its time
                raise RuntimeError(f"a worker could not be started: {answer}")
        try:
            self.pipe.send((function, arguments))
            limit = TimeLimit(self, seconds)
            while not (exceeded := limit.exceeded):
                if self.pipe.poll(MOMENT):
                    return self.pipe.recv()
            answer = f"it {exceeded}"
        except (EOFError, OSError):
            answer = "it ended the process"
        self.stop()
        return answer

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


def each(function, tasks, workers=2, seconds=SECONDS):
    """Yield (number of the task, answer) as they come; tasks are tuples of arguments.

    An error of a worker itself, such as a process that cannot be started, is raised here.
    """
    todo, done = queue.SimpleQueue(), queue.SimpleQueue()
    for task in enumerate(tasks):
        todo.put(task)
    count = todo.qsize()

    def work():
        worker = Worker()
        try:
            while True:
                number, arguments = todo.get_nowait()
                done.put((number, worker.ask(function, arguments, seconds)))
        except queue.Empty:
            pass
        except Exception as error:                   # not the task's: `ask` turns that into a sentence
            worker.stop()
            done.put((None, error))
        finally:
            worker.stop()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for _ in range(count):
        number, answer = done.get()
        if number is None:
            raise answer
        yield number, answer
    for thread in threads:
        thread.join()
