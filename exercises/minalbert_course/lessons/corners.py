"""Where special cases show: axes of 1 to 4, no padding or nothing else, numbers that are tiny, zero or large.

A check that `also` asks in corners runs there once more, with what its first draw leaves to be drawn:

    @lesson.check(2, "y", of="forward", formula="y = x w")
    @also(Corner(B=1, T=1), Corner("zero", B=2, T=3))
    def value(yours, draw): ...
"""

import contextlib
import functools

import numpy as np

from minalbert.gradcheck.diagnose import certain

from ..causes.own_forward import YoursByOwnForward
from ..compare import Wrong
from ..narrow import where_memory_allows
from ..values import Stopped

LARGE, UPSTREAM, TINY, LEAST = 11.0, 100.0, 1e-3, 1e-6
KINDS = {
    "usual": "",
    "tiny": "numbers of size 0.001",
    "least": "numbers of size 1e-06",
    "zero": "zeros alone",
    "large": "some numbers above 10",
    "initial": "gains of one and biases of zero, as at the beginning",
    "constant": "a row of one number, and a gain of 0",
    "one sign": "rows of one sign, and zeros in rows",
    "outlier": "a row of many numbers, one of them far out",
    "still": "weights with which a block changes nothing",
    "again": "the first weights of the list and the last are one object",
    "copies": "all weights of the list are equal copies",
}
MANY = 20000                                         # numbers of an array, where an answer may work in place
FEW = 3                                              # numbers that two mistakes may both give, by chance
BEFORE = "it was right for other sizes and numbers"
SIZES = "; or a size is written in, or kept from an earlier call"
GUESSES = {
    "usual": f"perhaps: {BEFORE}; a size is written in, or a case of its own is made for some",
    "tiny": f"perhaps: {BEFORE}; what is added or compared with is not small beside 0.001, or something is rounded"
            f"{SIZES}",
    "least": f"perhaps: {BEFORE}; what is added or compared with is not small beside 1e-06, or something is cut off",
    "zero": f"perhaps: {BEFORE}; zeros are divided by, or a case of their own{SIZES}",
    "large": f"perhaps: {BEFORE}; numbers are cut off, or exp overflows{SIZES}",
    "initial": f"perhaps: {BEFORE}; a gain of one, or a bias of zero, is a case of its own",
    "constant": f"perhaps: {BEFORE}; a row without variance is a case of its own, or a gain of 0",
    "one sign": f"perhaps: {BEFORE}; a row is divided by one of its numbers, which may be 0: its first, say, or its "
                "largest, where no number of the row is above 0",
    "outlier": f"perhaps: {BEFORE}; numbers are cut off, or a size is written in",
    "still": f"perhaps: {BEFORE}; the layers end early where x stays as it is{SIZES}",
    "again": f"perhaps: {BEFORE}; something is kept for an object, by its id, which may be there twice",
    "copies": f"perhaps: {BEFORE}; weights of equal numbers are taken for one object",
}
DROPPED_AXIS = "an axis of 1 is dropped, as squeeze does, or everything is summed"
OF_ONE = f"perhaps: {BEFORE}; an axis of 1 is dropped, a size written in, or a case of its own made for some"


@contextlib.contextmanager
def guessing(guess, few=0):
    """Where nothing reproduces the student's numbers, or they are so few, the cause of a Wrong is this guess."""
    try:
        yield
    except Wrong as error:
        chance = error.numbers is not None and error.numbers[1].size <= few
        if guess and (chance or not certain(error.cause)):
            error.cause, error.final = guess, True
        raise


class Corner:
    """kind    what numbers are like, one of KINDS; a lesson makes rows constant itself
    padding    "none", or "all but one" token of each sequence; otherwise as drawn
    guess      what may be wrong where nothing reproduces the student's numbers; or else what goes with the kind
    narrow     is it only for files that have integers of 16 bits?
    sizes      by name; others are those of the first draw
    """

    def __init__(self, kind="usual", padding="", guess="", narrow=False, **sizes):
        self.kind, self.padding, self.own_guess, self.narrow, self.sizes = kind, padding, guess, narrow, sizes

    @property
    def guess(self):
        of_one = self.kind == "usual" and 1 in self.sizes.values()
        return self.own_guess or (OF_ONE if of_one else GUESSES[self.kind])

    def __str__(self):
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        padding = {"none": "no padding", "all but one": "one token in each sequence"}.get(self.padding, "")
        return "; ".join(words for words in (sizes, padding, KINDS[self.kind]) if words)


class CornerDraw:
    """A draw that gives what a corner has."""

    first = False

    def __init__(self, draw, corner):
        self.draw, self.corner = draw, corner

    def __getattr__(self, name):
        return getattr(self.draw, name)

    def sizes(self, least=1, **usual):
        return [self.corner.sizes.get(name, size) for name, size in usual.items()]

    def normal(self, *shape, scale=1.0):
        return self.of_kind(self.draw.normal(*shape, scale=scale))

    def matrix(self, inputs, outputs):
        return self.of_kind(self.draw.matrix(inputs, outputs))

    def gain(self, size):
        if self.corner.kind == "initial":
            return np.ones(size)
        return self.of_kind(self.draw.gain(size))

    def of_kind(self, array):
        array = array * {"tiny": TINY, "least": LEAST, "zero": 0.0}.get(self.corner.kind, 1.0)
        if self.corner.kind == "large":
            array.flat[-1], array.flat[0] = -LARGE, LARGE
        return array

    def padding(self, batch, length):
        if not self.corner.padding:
            return self.draw.padding(batch, length)
        return np.broadcast_to(np.arange(length) < (length if self.corner.padding == "none" else 1), (batch, length))


def upstream(draw, *shape):
    """A gradient from above; where numbers are large it is large everywhere, so that what comes of it is, too."""
    corner = getattr(draw, "corner", None)
    return UPSTREAM * draw.draw.normal(*shape) if corner and corner.kind == "large" else draw.normal(*shape)


def also(*corners):
    """A decorator of a check: after the first draw it runs in these corners."""

    def add(run):
        @functools.wraps(run)
        def everywhere(yours, draw):
            run(yours, draw)
            if not draw.first or isinstance(yours, YoursByOwnForward):
                return
            for corner in corners:
                if corner.narrow and not yours.has_narrow_integers:
                    continue
                allowed = where_memory_allows() if corner.narrow else contextlib.nullcontext()
                try:
                    with allowed, guessing(corner.guess, np.inf if corner.kind in ("constant", "still") else FEW):
                        run(yours, CornerDraw(draw, corner))
                except Wrong as error:
                    error.seen = f"{error.seen} ({corner})"
                    raise
                except Stopped as error:
                    stopped = Stopped(f"{error} ({corner})")
                    stopped.of = error.of
                    raise stopped from None

        return everywhere

    return add


def something(**answers):
    """Raise Wrong where an answer is zero everywhere: a check that asks for little else gives nothing for it."""
    for name, answer in answers.items():
        arrays = answer.values() if isinstance(answer, dict) else answer if isinstance(answer, list) else [answer]
        if not any(np.any(np.asarray(array, object)) for array in arrays):
            raise Wrong(f"{name} is zero everywhere", "zeros keep every rule that is asked for here, but are no answer")
