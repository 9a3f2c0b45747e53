"""Is the cause that a report gives for a mutant the right one? It is known what was changed, and where.

A cause that names a change of the student's code is right if it names a line that the mutant changed. A cause in a
lesson's words is right if it is of the kind that the mutant's operator makes: for state, writing into arguments and
cases of their own there are words; of the others it must give the student's numbers, and be the same for the numbers
of another term, which a coincidence is not. What begins with "seen: " is no cause.
"""

import difflib
import re

PLACE = re.compile(r"^(\w+), line (\d+): all numbers of this check are right ")
KINDS = {                                            # operators -> what a cause must speak of
    ("caches", "memory", "shared"): r"\bkept\b|earlier call|calls in between|first call|called a second time|once for",
    ("in place",): r"wrote into|in place|changed",
    ("special cases",): r"case of its own|case of their own|in this case|one is added|written in|made for some",
}  # fmt: skip


def is_cause(text):
    return bool(text) and not text.startswith("seen: ")


def changed_lines(text, solution):
    """Numbers of the lines of a mutant's text that are not the solution's; where lines are gone, those around."""
    found = set()
    matcher = difflib.SequenceMatcher(None, solution.splitlines(), text.splitlines(), autojunk=False)
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind != "equal":
            found |= set(range(start + 1, end + 1)) or {start, start + 1}
    return found


def is_right(ran, solution, again=None):
    """ran: a Ran with a cause; again: the Ran of the same mutant with the numbers of another term, if it needs one"""
    if place := PLACE.match(ran.cause):
        return int(place[2]) in changed_lines(ran.mutant.text, solution)
    if words := next((words for operators, words in KINDS.items() if ran.mutant.operator in operators), None):
        return bool(re.search(words, ran.cause))
    return again is not None and without_numbers(again.cause) == without_numbers(ran.cause)


def needs_another_term(ran):
    return not PLACE.match(ran.cause) and not any(ran.mutant.operator in operators for operators in KINDS)


def without_numbers(cause):
    return re.sub(r"-?\d[\d.e+-]*", "#", cause)
