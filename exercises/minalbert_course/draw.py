"""The numbers a check is run with: a function of the term, the exercise, the check and a count.

There are two draws, the first in the sizes that the exercise's text speaks of. Those of the term "public" are
everybody's. A grader runs the first of them and another second one, which depends on a secret, so that no answer fits
it by heart.
"""

import hashlib

import numpy as np

PUBLIC = "public"


class CheckDraw:
    """number  of the draw, from 0
    seed, rng  what its numbers come from
    once    is it the one draw of a term in which what takes long is asked?
    """

    def __init__(self, number, *place, once=True):
        digest = hashlib.sha256("/".join(map(str, (*place, number))).encode()).digest()
        self.number, self.once, self.seed = number, once, int.from_bytes(digest[:8])
        self.rng = np.random.default_rng(self.seed)

    @property
    def first(self):
        return self.number == 0

    def sizes(self, least=1, **usual):
        """Whole numbers, all different, so that nothing fits transposed. The first draw has the usual ones. In the
        second each is another than the usual one, so that what is kept from the first does not fit.

        By name and in order: B, T = draw.sizes(B=2, T=5)
        """
        if self.first:
            return list(usual.values())
        end = max(max(usual.values()), least + len(usual)) + 3
        while True:
            found = [int(size) for size in self.rng.permutation(np.arange(least, end))[: len(usual)]]
            if all(size != other for size, other in zip(found, usual.values(), strict=True)):
                return found

    def normal(self, *shape, scale=1.0):
        return scale * self.rng.standard_normal(shape)

    def matrix(self, inputs, outputs):
        """Weights that keep the size of what passes through."""
        return self.normal(inputs, outputs, scale=inputs**-0.5)

    def gain(self, size):
        """Far from one, where a forgotten gain would not be seen."""
        return 1 + self.normal(size, scale=0.5)

    def integers(self, low, high, *shape):
        """From low to high, the end not included."""
        return self.rng.integers(low, high, shape)

    def uniform(self, low=0.0, high=1.0, *shape):
        return self.rng.uniform(low, high, shape)

    def padding(self, batch, length):
        """An attention mask (B, T): the last sequence is whole, others end early, each has a token."""
        lengths = self.rng.integers(1, length + 1, batch)
        lengths[-1] = length
        if batch > 1:
            lengths[0] = max(1, length // 2)
        return (np.arange(length) < lengths[:, None]).astype(np.int64)


def draws(term, lesson, check):
    for number, of in enumerate((PUBLIC, term)):
        once = (number == 0) == (term == PUBLIC)
        yield CheckDraw(number, of, lesson.name, check.title, once=once)
