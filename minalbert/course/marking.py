"""From a lesson and somebody's functions to points, each with its reason."""

from typing import Any, NamedTuple

from .compare import Wrong
from .draw import PUBLIC, draws
from .lesson import Check
from .yours import NotWritten, Stopped, Yours


class Outcome(NamedTuple):
    check: Check
    earned: float
    seen: str = ""                                   # what is wrong, if anything is
    cause: str | None = None                         # what that usually means
    of: str = ""                                     # the function to look at


class Marks(NamedTuple):
    lesson: Any
    outcomes: list
    remark: str = ""                                 # why there is nothing to mark, or what went wrong besides

    @property
    def points(self):
        return sum(outcome.earned for outcome in self.outcomes)

    @property
    def of(self):
        return sum(outcome.check.points for outcome in self.outcomes)

    @property
    def missed(self):
        """Outcomes without their points."""
        return [outcome for outcome in self.outcomes if outcome.seen]


def mark(lesson, host, term=PUBLIC, remark=""):
    """Run every check; one that fails, however it fails, leaves the others alone."""
    yours = Yours(lesson, host)
    return Marks(lesson, [outcome(lesson, check, yours, term) for check in lesson.checks], remark)


def none(lesson, reason):
    """Marks of a file that cannot be read or run."""
    return Marks(lesson, [Outcome(check, 0.0, reason, None, check.of) for check in lesson.checks], reason)


def outcome(lesson, check, yours, term):
    yours.forget()
    try:
        for draw in draws(term, lesson, check):
            check.run(yours, draw)
    except NotWritten as error:
        return Outcome(check, 0.0, str(error), None, check.of)
    except Stopped as error:
        return Outcome(check, 0.0, str(error), None, check.of)
    except Wrong as error:
        return Outcome(check, 0.0, error.seen, error.cause, error.of or check.of)
    except Exception as error:                       # of numbers, text or objects that no check expects
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return Outcome(check, 0.0, f"{check.of} returned something that cannot be checked ({said})", None, check.of)
    return Outcome(check, float(check.points))


def check(exercise, namespace, term=None):
    """In a notebook's last cell: `check("ex05", globals())` prints the report; its value is the points.

    It does nothing where the file is imported, as `minalbert exercise check` does it. `term`: the secret of a course,
    by default that of the environment variable MINALBERT_TERM, if it is set, as on a grader's machine.
    """
    import os

    from .catalogue import find
    from .here import Here
    from .report import lines

    if namespace.get("__name__") != "__main__":
        return None
    lesson = find(exercise)
    host = Here(namespace, namespace.get("__file__", ""), lesson.withheld)
    marks = mark(lesson, host, term or os.environ.get("MINALBERT_TERM") or PUBLIC)
    print("\n".join(lines(marks)))
    return marks.points
