"""Many submissions, some of them at a time. Whatever one of them does, the others get their marks."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from .. import marking
from ..catalogue import find
from ..draw import PUBLIC
from ..errors import CourseError
from .fenced import Fenced, Refused, SubmissionLimits, stop_all


class Grade(NamedTuple):
    submission: Any
    marks: Any
    failure: str = ""                                # of the grader itself: a person must look
    fences: tuple = ()                               # that stood around it

    @property
    def key(self):
        return self.submission.student, self.submission.exercise


def grades(submissions, lessons, term=PUBLIC, workers=2, limits=SubmissionLimits(), done=lambda grade: None,
           new_worker=None):  # fmt: skip
    """A Grade each, in order. lessons: exercise -> Lesson, as this term has it."""

    def one(submission):
        grade = graded(submission, lessons[submission.exercise], term, limits, new_worker)
        done(grade)
        return grade

    with ThreadPoolExecutor(workers) as pool:
        try:
            return list(pool.map(one, submissions))
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_all()
            raise


def graded(submission, lesson, term=PUBLIC, limits=SubmissionLimits(), new_worker=None):
    try:
        if submission.problem:
            return Grade(submission, marking.none(lesson, submission.problem))
        with Fenced(lesson, submission.path, limits, new_worker) as host:
            marks = marking.mark(lesson, host, term, f"{host.remark}{variant(submission, lesson)}".removeprefix("; "))
            return Grade(submission, marks, fences=tuple(host.fences))
    except Refused as error:
        return Grade(submission, marking.none(lesson, f"{error}{variant(submission, lesson)}"))
    except Exception as error:
        message = f"the grader could not mark this: {type(error).__name__}: {error}"
        return Grade(submission, marking.none(lesson, message), message)


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
