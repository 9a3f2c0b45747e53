"""From a lesson and somebody's functions to points, each with its reason."""

import os
from typing import Any, NamedTuple

from minalbert.gradcheck.diagnose import PERHAPS, certain

from . import unfilled
from .again.interleaving import AGAIN, answers_otherwise
from .causes.mending import Mending
from .causes.own_forward import YoursByOwnForward, pairs_to_judge
from .causes.variations import found_in
from .compare import NOTHING, Wrong
from .draw import PUBLIC
from .ending import SECONDS, ended_after
from .errors import CourseError
from .files import mentions
from .lesson import Check
from .running import run_check
from .values import NotWritten, OutOfTime, Stopped
from .yours import Yours

NAN = "not a number"                                 # in causes of `minalbert.gradcheck`
ZEROS = "every number that came back is zero"
EARNED_ELSEWHERE = "seen: zero is right here, but it counts only where another check of the function has its points"
LONE = "this check is passed, but it counts only where {names} has points in another check"


class Outcome(NamedTuple):
    check: Check
    earned: float
    seen: str = ""                                   # what is wrong, if anything is
    cause: str | None = None                         # what that usually means
    of: str = ""                                     # the function to look at
    ran: bool = True                                 # did it return something to compare?
    exact: bool = False                              # was the cause found by computing the very numbers?
    near: float | None = None                        # cosine of wrong numbers to the right ones
    note: str = ""                                   # how the points were earned, if in another way than usual
    called: frozenset = frozenset()                  # functions that returned something beside zeros
    only_zeros: frozenset = frozenset()              # functions that did not, if no other was called


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


def mark(lesson, host, term=PUBLIC, remark="", known=None):
    """Run every check; one that fails, however it fails, leaves the others alone. known: {title: Outcome} of checks
    that were run with all that they call as it is now."""
    yours, known = Yours(lesson, host), known or {}
    yours.failed |= {name for found in known.values() if found.seen for name in (found.check.of, found.of)}
    outcomes = [known.get(check.title) or outcome(lesson, check, yours, term) for check in lesson.checks]
    if pairs := pairs_to_judge(lesson, outcomes):
        causes = [found.cause for found in outcomes if found.of in pairs.values()]
        own = YoursByOwnForward(lesson, host, pairs, causes)
        outcomes = [judged_by_own(lesson, found, own, pairs, term) for found in outcomes]
    return Marks(lesson, without_lone_points(without_zeros(outcomes)), printable(remark))


def mark_and_explain(lesson, host, term=PUBLIC, remark="", known=None):
    """As `mark`, of code in this process; where no cause is known, changes of it are tried, for `mending.SECONDS`."""
    marks = mark(lesson, host, term, remark, known)
    mending = Mending(lesson, host, term, [found.check for found in marks.outcomes if not found.seen])
    return marks._replace(outcomes=[explained(found, mending) for found in marks.outcomes])


def explained(found, mending):
    """The outcome; where its cause was not computed, that comes after a change that makes the check right."""
    if not found.seen or not found.ran or found.exact:
        return found
    says = mending.cause(found.check, found.of)
    guess = found.cause if not certain(found.cause) else f"{PERHAPS}{found.cause}"
    return found._replace(cause=printable(f"{says}; {guess}" if guess else says)) if says else found


def without_zeros(outcomes):
    """No points where every number that came back is zero, unless one of these functions earned points elsewhere."""
    earning = {name for found in outcomes if found.earned for name in found.called}

    def nothing_shown(found):
        return found.earned and found.only_zeros and not found.only_zeros & earning

    return [missed(found.check, ZEROS, EARNED_ELSEWHERE) if nothing_shown(found) else found for found in outcomes]


def without_lone_points(outcomes):
    """No points of a check that does not count alone, where no function that it calls has others."""
    right = {name for found in outcomes if found.earned and found.check.counts_alone for name in found.called}

    def counted(found):
        if not found.earned or found.check.counts_alone or found.called & right:
            return found
        return missed(found.check, LONE.format(names=" or ".join(sorted(found.called))))

    return [counted(found) for found in outcomes]


def judged_by_own(lesson, found, own, pairs, term):
    """The outcome, or a better one where backward's gradients may be those of the student's own forward function."""
    if found.near is None or found.of not in pairs:
        return found
    again = outcome(lesson, found.check, own, term)
    note = f"judged against your own {pairs[found.of]}, which is not right yet: given its numbers, nothing is wrong"
    return found if again.seen else again._replace(note=note)


def no_marks(lesson, reason):
    """Marks of a file that cannot be read or run."""
    reason = printable(reason)
    return Marks(lesson, [Outcome(check, 0.0, reason, ran=False) for check in lesson.checks], reason)


def outcome(lesson, check, yours, term):
    found = outcome_of(lesson, check, yours, term)
    if found.seen:
        yours.failed |= {check.of, found.of}
    return found


def outcome_of(lesson, check, yours, term):
    yours.forget()
    try:
        run_check(lesson, check, yours, term)
        names = frozenset(call.name for call in yours.made)
        telling = frozenset(name for name in names if yours.returned_something(name))
    except Wrong as error:
        if isinstance(error.__cause__, OutOfTime):   # whatever else the check takes for its cause
            return missed(check, error.seen, None, error.of)._replace(ran=False)
        if yours.wrote and yours.wrote != error.seen:                # then little else is to be believed
            cause = f"{yours.wrote}, which others still need"
            return missed(check, error.seen, cause, error.of)._replace(exact=True)
        try:
            cause, exact = cause_of(lesson, check, yours, error)
        except Exception:                            # of answers made for that: the check was missed all the same
            cause, exact = error.cause, False
        return missed(check, error.seen, cause, error.of)._replace(near=error.near, exact=exact)
    except (NotWritten, Stopped) as error:
        return missed(check, error, None, error.of)._replace(ran=False)
    except Exception as error:                       # of numbers, text or objects that no check expects
        return missed(check, f"{check.of} returned something that cannot be checked ({type(error).__name__}: {error})")
    return Outcome(check, float(check.points), called=telling, only_zeros=frozenset() if telling else names)


def cause_of(lesson, check, yours, error):
    """(the cause of a Wrong, or None; was it found by computing the very numbers?)"""
    if error.numbers is not None and answers_otherwise(lesson, yours, {error.of, check.of}):
        return AGAIN, True
    if certain(error.cause) or error.final:
        cause, exact = error.cause, error.exact and certain(error.cause)
    else:
        found = found_in(lesson, yours, error)
        cause, exact = found or error.cause or nothing_returned(yours), bool(found)
    if cause and NAN in cause and mentions(yours.host.path, unfilled.NAMED):
        cause = f"{cause}; {unfilled.SAYS}"
    return cause, exact


def nothing_returned(yours):
    return f"{PERHAPS}{NOTHING}" if yours.made and yours.made[-1].result is None else None


def missed(check, seen, cause=None, of=None):
    return Outcome(check, 0.0, printable(seen), printable(cause) if cause else None, of or check.of)


def printable(text):
    """On one line, without control characters, with which a terminal could be written over; what is long, cut."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))[:600]


def check(exercise, namespace, term=None):
    """In a notebook's last cell: `check("ex05", globals())` prints the report; its value is the points.

    It does nothing where the file is imported, as `minalbert exercise check` does it. Code that does not end is ended
    as it is there, in a notebook's kernel too, which runs cells in its main thread; in another thread, or in a browser,
    nothing ends it. `term`: the secret of a course, by default that of the environment variable MINALBERT_TERM, if it
    is set, as on a grader's machine.
    """
    from .catalogue import find
    from .here import Here
    from .report import lines
    from .state.stateless import is_stateless

    if namespace.get("__name__") != "__main__":
        return None
    lesson = find(exercise)
    path = namespace.get("__file__", "")             # of a notebook nobody knows which cells ran, and in which order
    host = Here(namespace, path, lesson.withheld, stateless=bool(path) and is_stateless(path, lesson.functions))
    try:
        with ended_after(SECONDS, os.path.basename(path) or lesson.name):
            marks = mark_and_explain(lesson, host, term or os.environ.get("MINALBERT_TERM") or PUBLIC)
    except CourseError as error:
        marks = no_marks(lesson, str(error))
    print("\n".join(lines(marks)))
    return marks.points
