"""Is the cause that a report gives for a mutant the right one? It is known what was changed, and where.

A cause that names a line of the student's code is right if the mutant changed that line. State, writing into arguments
and cases of their own have words, one of which a cause must use. Any other cause is right if the report with the
numbers of another term gives it again, which a coincidence does not; so is a change of another line that undoes the
mutant's as well. What begins with "seen: " is no cause.
"""

import difflib
import re

PLACE = re.compile(r"^(\w+), line (\d+): all numbers of this check are right ")
KINDS = {                                            # operators -> what a cause must speak of
    ("caches", "memory", "shared"):
        r"\bkept\b|earlier call|calls in between|first call|called a second time|once for|returned before",
    ("in place",): r"wrote into|in place|changed",
    ("special cases",): r"case of its own|case of their own|in this case|one is added|written in|made for some",
}  # fmt: skip


def is_cause(text):
    return bool(text) and not text.startswith("seen: ")


def changed_line_numbers(text, solution):
    """Numbers of the lines of a mutant's text that are not the solution's; where lines are gone, those around."""
    found = set()
    matcher = difflib.SequenceMatcher(None, solution.splitlines(), text.splitlines(), autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind != "equal":
            found |= set(range(start + 1, end + 1)) or {start, start + 1}
    return found


def names_the_line(ran, solution):
    """Does the cause name a line, and is it one that was changed? None where it names no line."""
    place = PLACE.match(ran.cause)
    return int(place[2]) in changed_line_numbers(ran.mutant.text, solution) if place else None


def words_for(ran):
    """What its cause must speak of, or None."""
    return next((words for operators, words in KINDS.items() if ran.mutant.operator in operators), None)


def needs_another_term(ran, solution):
    at_line = names_the_line(ran, solution)
    return at_line is False or (at_line is None and words_for(ran) is None)


def is_right(ran, solution, again=None):
    """ran: a Ran with a cause; again: the Ran of the same mutant with the numbers of another term, if it needs one"""
    if needs_another_term(ran, solution):
        return again is not None and without_numbers(again.cause) == without_numbers(ran.cause)
    return names_the_line(ran, solution) or bool(re.search(words_for(ran), ran.cause))


def without_numbers(cause):
    return re.sub(r"-?\d[\d.e+-]*", "#", cause)
