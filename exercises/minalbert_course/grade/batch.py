"""Many submissions, some of them at a time. Whatever one of them does, the others get their marks.

Each worker is asked from a process of the grader's own: in threads of one process, one would wait for the other.
"""

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from typing import Any, NamedTuple

from .. import marking
from ..catalogue import find
from ..draw import PUBLIC
from ..errors import CourseError
from .fenced import Fenced, Refused, SubmissionLimits, stop_all

MOST = 61                                            # processes that Windows can wait for
SELDOM = 100_000                                     # objects to make before Python looks for those that are unused


class Grade(NamedTuple):
    submission: Any
    marks: Any
    failure: str = ""                                # of the grader itself: a person must look
    fences: tuple = ()                               # that stood around it

    @property
    def key(self):
        return self.submission.student, self.submission.exercise


def grades(submissions, lessons, term=PUBLIC, workers=2, limits=SubmissionLimits(), done=lambda: None,
           new_worker=None):  # fmt: skip
    """A Grade each, in order. lessons: exercise -> Lesson, as this term has it; done: called when one is marked"""
    spawn, workers = multiprocessing.get_context("spawn"), min(workers, MOST)
    end, lifeline = spawn.Pipe(duplex=False)
    with end, lifeline, ProcessPoolExecutor(workers, spawn, begin, (end, cores_for(workers, spawn))) as pool:
        try:
            marked = [pool.submit(graded_here, submission, lessons[submission.exercise].name, term, limits, new_worker)
                      for submission in submissions]  # fmt: skip
            for _ in as_completed(marked):
                done()
            return [with_lesson(future.result(), lessons) for future in marked]
        except BrokenExecutor as error:
            raise CourseError("a process that marks submissions died: is memory short, or are grades() asked for "
                              "outside of `if __name__ == '__main__':`?") from error  # fmt: skip
        except BaseException:
            lifeline.close()
            raise


def cores_for(workers, spawn):
    """A queue with a core for each process of the pool; None where there are more cores, or none can be chosen.

    A process and the worker that it asks take turns, and that costs less on one core: the next need not be woken.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if not 0 < len(cores) <= workers:
        return None
    queue = spawn.SimpleQueue()
    for number in range(workers):
        queue.put(cores[number % len(cores)])
    return queue


def begin(lifeline, cores):
    """In a process of the pool: when the other end of the pipe is closed, stop everything; leave interrupts to that."""
    gc.freeze()                                      # all modules are there; to look through them again takes long
    gc.set_threshold(SELDOM)
    if cores is not None:
        with contextlib.suppress(OSError):           # it is quicker there, and right anywhere
            os.sched_setaffinity(0, {cores.get()})   # its workers inherit it

    def wait():
        with contextlib.suppress(EOFError):
            lifeline.recv_bytes()
        stop_all()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: None)


def graded_here(submission, name, term, limits, new_worker):
    """What `with_lesson` makes a Grade of: checks are functions, which do not travel."""
    grade = graded(submission, find(name), term, limits, new_worker)
    outcomes = [outcome._replace(check=None) for outcome in grade.marks.outcomes]
    return grade._replace(marks=grade.marks._replace(lesson=None, outcomes=outcomes))


def with_lesson(grade, lessons):
    lesson = lessons[grade.submission.exercise]
    pairs = zip(lesson.checks, grade.marks.outcomes, strict=True)
    outcomes = [outcome._replace(check=check) for check, outcome in pairs]
    return grade._replace(marks=grade.marks._replace(lesson=lesson, outcomes=outcomes))


def graded(submission, lesson, term=PUBLIC, limits=SubmissionLimits(), new_worker=None):
    try:
        if submission.problem:
            return Grade(submission, marking.no_marks(lesson, submission.problem))
        with Fenced(lesson, submission.path, limits, new_worker) as host:
            marks = marking.mark(lesson, host, term, f"{host.remark}{variant(submission, lesson)}".removeprefix("; "))
            return Grade(submission, marks, fences=tuple(host.fences))
    except Refused as error:
        return Grade(submission, marking.no_marks(lesson, f"{error}{variant(submission, lesson)}"))
    except Exception as error:
        message = f"the grader could not mark this: {type(error).__name__}: {error}"
        return Grade(submission, marking.no_marks(lesson, message), message)


def variant(submission, lesson):
    """A remark, if the file's name gives another variant than the term has."""
    try:
        named = find(submission.path.stem)
    except CourseError:
        return ""
    if named is lesson or named.exercise != lesson.exercise:
        return ""
    return f"; by its name it is {named.name}, and this term has {lesson.name}"


def best(grades):
    """One for each student and exercise: of several files, the one with the most points."""
    chosen = {}
    for grade in grades:
        if grade.key not in chosen or grade.marks.points > chosen[grade.key].marks.points:
            chosen[grade.key] = grade
    return list(chosen.values())
