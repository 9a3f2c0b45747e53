"""Documents for exercise 8, and how fairly they are cut and exchanged."""

import numpy as np

from ...compare import Wrong
from .chances import even, sequential, share
from .sentences import ORDINARY, whole

FLAT = "the sentences of a part must be joined into one list of token ids"
SAME_CHANCE = "seen: every place between two sentences must have the same chance"
OTHER_SIZES = (2, 700), (13, 456), (40, 300), (3, 100)              # sentences, calls


def written(draw, sentences, start=ORDINARY):
    """A document in which no token comes twice."""
    lengths = draw.integers(1, 5, sentences)
    tokens = (start + draw.rng.permutation(int(lengths.sum()))).tolist()
    return split(tokens, lengths)


def repeating(draw, sentences):
    """A document of few words, in which sentences come twice."""
    lengths = draw.integers(1, 3, sentences)
    return split(draw.integers(ORDINARY, ORDINARY + 2, int(lengths.sum())).tolist(), lengths)


def split(tokens, lengths):
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


def compare_draws(draw, pairs_of, what, causes):
    """pairs_of(sentences) -> a function: so many draws of one document -> [(0 or 1, the cut's number)]

    Of one document: fair, each for the other? Then of shorter and longer ones.
    """
    if draw.first:
        found, sentences = [], 5
        pairs = pairs_of(sentences)

        def events(count):
            found.extend(pairs(count))
            return [[what] * one + [cut_after(cut, sentences)] for one, cut in found[-count:]]

        places = {cut_after(cut, sentences): 1 / (sentences - 1) for cut in range(1, sentences)}
        causes = {what: causes} | dict.fromkeys(places, (SAME_CHANCE, SAME_CHANCE))
        sequential(events, {what: 1 / 2} | places, causes, lambda: cause_of_cuts(found, sentences))
        compare_cuts(what, found, sentences)
        return
    for sentences, calls in OTHER_SIZES:
        found = pairs_of(sentences)(calls)
        count = sum(one for one, _ in found)
        share(f"{what}, of {sentences} sentences", count, calls, 1 / 2, {0: causes[0], calls: causes[1]}.get(count))
        compare_cuts(what, found, sentences)


def cut_after(cut, sentences):
    return f"cut after sentence {cut} of {sentences}"


def cause_of_cuts(found, sentences):
    cuts = {cut for _, cut in found}
    if sentences > 2 and len(cuts) == 1:
        return "the cut is always after the first sentence" if cuts == {1} else "the cut is always at the same place"
    if len({*found}) == len(cuts) > 1 and len({one for one, _ in found}) == 2:
        return "seen: the order follows from the cut; it needs a draw of its own"
    return None


def compare_cuts(what, found, sentences):
    cuts, known = [cut for _, cut in found], cause_of_cuts(found, sentences)
    cause = known or SAME_CHANCE
    for cut in range(1, sentences):
        share(cut_after(cut, sentences), cuts.count(cut), len(cuts), 1 / (sentences - 1), cause)
    even(f"cuts of {sentences} sentences", [cuts.count(cut) for cut in range(1, sentences)], cause)
    for cut in range(1, sentences):
        ones = [one for one, place in found if place == cut]
        share(f"{what}, where the {cut_after(cut, sentences).replace('after', 'is after')}", sum(ones), len(ones),
              1 / 2, known or "seen: the order depends on the cut; it needs a draw of its own")  # fmt: skip
