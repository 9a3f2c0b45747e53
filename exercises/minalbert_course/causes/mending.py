"""Which single change of a student's own code makes a check right? Where no cause is known, that is one.

The changes are those of `slips`, in the function that a check looks at, its partner and the functions that they call.
What is said is true: the check was run with the change.
"""

import ast
import io
import time
from contextlib import redirect_stdout

import numpy as np

from ..compare import Wrong, without_causes
from ..draw import draws
from ..running import run_check
from ..yours import Yours
from .changed_code import Changed, TooLong, compiled, limited_memory, loops_of

SECONDS = 1.5                                        # of this process, for all checks of an exercise
STEPS = 12                                           # towards the right number


class Mending:
    """Looks for changes, for one set of marks; what mended one check is tried first for the next."""

    def __init__(self, lesson, host, term, passed=()):
        """passed: checks that are right already, and must stay so"""
        self.lesson, self.term, self.host, self.passed = lesson, term, Changed(host), passed
        self.yours, self.known, self.searched = Yours(lesson, self.host), [], set()
        self.left = SECONDS

    def cause(self, check, of):
        """In words, where the change is that makes a check of this function right; or None."""
        begin = time.process_time()
        self.end = self.host.rounds.end = begin + self.left
        with without_causes(), limited_memory(), redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            found = self.known_change(check) or self.change(check, of)
        self.left -= time.process_time() - begin
        return found

    def known_change(self, check):
        for says, name, code in self.known:
            with self.host.changed(name, code):
                if self.mends(check, name):
                    return says
        return None

    def change(self, check, of):
        """One search for each function: what mends no check of it would hardly mend the next."""
        names = self.host.concerned(of) if of not in self.searched else []
        for name, changes in [(name, changes) for changes in (self.likely, self.unlikely) for name in names]:
            for says, code in changes(name, check):
                if time.process_time() > self.end:
                    return None
                with self.host.changed(name, code):
                    if self.mends(check, name):
                        self.known.append((says, name, code))
                        return says
        self.searched.add(of)
        return None

    def mends(self, check, name):
        """Is the check right with this change of a function, and what had been right of the two functions, too?"""
        self.yours = Yours(self.lesson, self.host)   # what another change wrote into says nothing about this one
        others = (other for other in self.passed if other.of in (check.of, name))
        return self.right(check) and all(map(self.right, others))

    def right(self, check):
        """Is a check right with what is changed now?"""
        self.yours.forget()
        try:
            run_check(self.lesson, check, self.yours, self.term)
        except (Exception, TooLong):                 # Wrong, and whatever else a changed function makes of a check
            return False
        return not self.yours.wrote

    def likely(self, name, check):
        """(words, code) of changes in a function."""
        yield from self.changes(name, lambda rank: rank < 2)
        yield from self.numbers(name, *self.host.tree(name), check)

    def unlikely(self, name, check):
        yield from self.changes(name, lambda rank: rank >= 2)

    def changes(self, name, meant):
        tree, first = self.host.tree(name)
        loops = loops_of(tree)
        for slip in [slip for slip in self.host.slips(name) if meant(slip.rank)]:
            old = slip.exchange(slip.new)
            try:
                new = [slip.new] if isinstance(slip.new, ast.While) else []
                code = compiled(tree, loops + new, self.host.path)
            except (SyntaxError, ValueError, TypeError, AttributeError, RecursionError):
                continue
            finally:
                slip.exchange(old)
            yield in_words(name, first, slip.line, slip.says), code

    def numbers(self, name, tree, first, check):
        """Other numbers in the place of one, found by the secant method."""
        for node in [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]:
            was = node.value
            if isinstance(was, bool) or not isinstance(was, int | float):
                continue
            says = in_words(name, first, node.lineno, f"with another number than `{was!r}`")
            try:
                for number in self.towards(name, tree, node, check):
                    node.value = number
                    yield says, compiled(tree, loops_of(tree), self.host.path)
            finally:
                node.value = was

    def towards(self, name, tree, node, check):
        """Numbers that come nearer and nearer to what the first draw asks for."""

        def miss(number):
            node.value = number
            with self.host.changed(name, compiled(tree, loops_of(tree), self.host.path)):
                return self.miss(check)

        a, b = float(node.value), float(node.value) * 1.01 or 0.01
        at_a, at_b = miss(a), miss(b)
        for _ in range(STEPS):
            if None in (at_a, at_b) or at_a == at_b or time.process_time() > self.end:
                return
            a, b, at_a = b, b - at_b * (b - a) / (at_b - at_a), at_b
            if not np.isfinite(b):
                return
            yield b
            at_b = miss(b)

    def miss(self, check):
        """How far the numbers are off at the largest one, in the first draw; None where there are no numbers."""
        self.yours.forget()
        try:
            check.run(self.yours, next(iter(draws(self.term, self.lesson, check))))
        except Wrong as error:
            if error.numbers is None or error.numbers[0].shape != error.numbers[1].shape:
                return None
            yours, expected = map(np.ravel, error.numbers)
            worst = np.argmax(np.abs(expected))
            return float(yours[worst] - expected[worst])
        except (Exception, TooLong):
            return None
        return 0.0


def in_words(name, first, line, says):
    return f"{name}, line {first + line - 1}: all numbers of this check are right {says}"
