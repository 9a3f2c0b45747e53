"""Documents for exercise 8, and how fairly they are cut and exchanged."""

import numpy as np

from ..compare import Wrong
from .chances import half, share
from .sentences import ORDINARY, whole

FLAT = "the sentences of a part must be joined into one list of token ids"
SAME_CHANCE = "seen: every place between two sentences must have the same chance"


def written(draw, sentences, start=ORDINARY):
    """A document in which no token comes twice."""
    lengths = draw.integers(1, 5, sentences)
    tokens = (start + draw.rng.permutation(int(lengths.sum()))).tolist()
    ends = np.cumsum(lengths).tolist()
    return [tokens[end - size : end] for end, size in zip(ends, lengths.tolist(), strict=True)]


def joined(document):
    return [token for sentence in document for token in sentence]


def starts(document):
    """Where sentences begin, and the document's end, in its joined tokens."""
    return np.cumsum([0, *map(len, document)]).tolist()


def two_parts(first, second):
    parts = whole("first", first, FLAT), whole("second", second, FLAT)
    for name, part in zip(("first", "second"), parts, strict=True):
        if not part:
            raise Wrong(f"{name} is empty", "with n sentences, the cut must lie in 1..n-1")
    return parts


def compare_draws(draw, pair, what, causes):
    """pair(sentences) -> (0 or 1, the cut's number)   Fair, each for the other, and each for all documents?"""
    found = []

    def toss(sentences):
        found.append(pair(sentences))
        return found[-1][0]

    if draw.first:
        half(what, lambda: toss(4), causes)
        compare_cuts(what, found, 4)
    else:
        for sentences, calls in ((2, 60), (5 + draw.number % 3, 220)):
            found.clear()
            count = sum(toss(sentences) for _ in range(calls))
            share(f"{what}, of {sentences} sentences", count, calls, 1 / 2, {0: causes[0], calls: causes[1]}.get(count))
            compare_cuts(what, found, sentences)


def compare_cuts(what, found, sentences):
    cuts = [cut for _, cut in found]
    cause = SAME_CHANCE
    if set(cuts) <= {1}:
        cause = "the cut is always after the first sentence" if sentences > 2 else None
    elif sentences > 2 and len(set(cuts)) == 1:
        cause = "the cut is always at the same place"
    for cut in range(1, sentences):
        share(f"cut after sentence {cut} of {sentences}", cuts.count(cut), len(cuts), 1 / (sentences - 1), cause)
    for cut in range(1, sentences):
        ones = [one for one, place in found if place == cut]
        share(f"{what}, where the cut is after sentence {cut} of {sentences}", sum(ones), len(ones), 1 / 2,
              "seen: the order depends on the cut; it needs a draw of its own")  # fmt: skip
