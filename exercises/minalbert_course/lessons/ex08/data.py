"""Exercise 8: what ALBERT learns from: sentence order and masked words. `nsp` has BERT's next sentences."""

import collections
import math

import numpy as np

from minalbert.data import masking, released

from ...compare import Wrong, numbers, shown
from ...lesson import Lesson
from .altered import other_number
from .chances import pairs_alike, repeats, rng, rngs, share, shares
from .documents import compare_draws, cut_after, joined, repeating, starts, two_parts, written
from .inputs import ASSEMBLE, MASK_TOKENS, add_inputs
from .masked_words import narrow_untouched, text
from .sentences import ORDINARY, flag, whole
from .word_spans import bare, compare_library, compare_spans, compare_words, spans_of, words_of

lesson = Lesson(
    "ex08", "masked words and sentence order", minutes=90,
    functions={
        "order_pair": "first, second, swapped",
        "assemble": ASSEMBLE,
        "mask_tokens": MASK_TOKENS,
        "ngram_lengths": "lengths",
        "find_words": "words",
        "choose_spans": "spans",
    },
    withheld=(masking.find_words, masking.choose_spans, released.find_words, released.mask),
    references={"find_words": words_of, "choose_spans": spans_of},
)  # fmt: skip

ORDER = "swapped = 0: first + second = document; 1: second + first = document"


@lesson.check(1, "order and label", of="order_pair", formula=ORDER)
def order(yours, draw):
    labels = set()
    for sentences in [2, 3, 4, 5, 6, 2, 3, 9, 24] * 4:
        document = (repeating if len(labels) == 2 and sentences == 4 else written)(draw, sentences)
        tokens = joined(document)
        first, second, swapped = yours.order_pair(document, rng(draw))
        first, second = two_parts(first, second)
        claimed = flag("swapped", swapped)
        if tokens not in (first + second, second + first):
            raise Wrong(f"first {shown(first)} and second {shown(second)} do not make up the text {shown(tokens)}")
        if tokens != (second + first if claimed else first + second):
            seen = "their own" if claimed else "the other"
            raise Wrong(f"swapped is {claimed}, but first and second stand in {seen} order",
                        "the label is the wrong way round: 1 means swapped")  # fmt: skip
        front = second if claimed else first
        if len(front) not in starts(document):
            raise Wrong(f"the cut is after {len(front)} tokens, within a sentence",
                        "the cut counts sentences, not tokens")  # fmt: skip
        labels.add(claimed)
    if 1 not in labels:
        raise Wrong("swapped is never 1", "the parts are never swapped, so nothing shows what the label means")


@lesson.check(0.5, "fair draws", of="order_pair", formula="swapped with probability 1/2, each cut with 1/(n-1)")
def fair(yours, draw):
    def pairs_of(sentences):
        document = written(draw, sentences)
        tokens, ends = joined(document), starts(document)

        def pair(first, second):
            swapped = first[0] != tokens[0]
            front = len(second if swapped else first)
            return swapped, ends.index(front) if front in ends else 0

        def pairs(count):
            answers = yours.each("order_pair", [(document, seeded) for seeded in rngs(draw, count)])
            return [pair(*two_parts(first, second)) for first, second, _ in answers]

        return pairs

    causes = "the parts are never swapped", "the parts are always swapped"
    compare_draws(draw, pairs_of, "swapped", causes)
    if draw.first:
        compare_equal_parts(yours, draw)
        compare_repeated(yours, draw)


def compare_repeated(yours, draw):
    """Each place has the same chance where sentences come again, too."""
    token, calls = int(draw.integers(ORDINARY, 1000)), 200
    one, other = [token], [token + 1, token + 2]
    document = [one, other, one, other, one]
    answers = yours.each("order_pair", [(document, seeded) for seeded in rngs(draw, calls)])
    fronts = [two_parts(first, second)[flag("swapped", swapped)] for first, second, swapped in answers]
    ends, cause = starts(document), "the place is found by its sentence, which may stand in several places"
    for cut in range(1, len(document)):
        count = sum(len(front) == ends[cut] for front in fronts)
        share(f"{cut_after(cut, 5)}, where sentences come again,", count, calls, 1 / 4, f"perhaps: {cause}")


def compare_equal_parts(yours, draw):
    """A label says what was drawn, also where both parts have the same tokens."""
    token, calls = int(draw.integers(ORDINARY, 1000)), 80
    answers = yours.each("order_pair", [([[token], [token]], seeded) for seeded in rngs(draw, calls)])
    count = sum(flag("swapped", swapped) for _, _, swapped in answers)
    cause = "the label is found by comparing tokens: swapped parts may look as the document does"
    says = "swapped, where both parts have the same tokens"
    share(says, count, calls, 1 / 2, cause if count in (0, calls) else None)


add_inputs(lesson, points=(1, 0.5, 0.5, 0.5, 0.5, 1))


@lesson.check(0.5, "n-grams, as published", of="ngram_lengths", formula="p(n) = (1/n) / (1 + 1/2 + 1/3)")
def ngrams(yours, draw):
    """The paper's section 3.1; 6/11, 3/11, 2/11 are the released script's."""
    count = 20000
    lengths = yours.ngram_lengths(count, rng(draw))
    lengths = whole("lengths", lengths, instead(lengths))
    if len(lengths) != count:
        raise Wrong(f"there are {len(lengths)} lengths; it must be {count}")
    if outside := sorted(set(lengths) - {1, 2, 3}):
        raise Wrong(f"a length is {outside[0]}; it must be 1, 2 or 3", instead(lengths))
    chances = {n: lengths.count(n) for n in (1, 2, 3)}
    one = "one draw stands for all; each length needs its own"
    shares("lengths of {}", chances, PUBLISHED, LENGTHS, one if count in chances.values() else None)
    pairs_alike("two lengths", [np.array(lengths)], sum(p * p for p in PUBLISHED), DEPENDENT)
    sizes = [1, 2] * 60 + [3] * 3 + [11] * 51
    found = yours.each("ngram_lengths", list(zip(sizes, rngs(draw, len(sizes)), strict=True)))
    found = [whole("lengths", row) for row in found]
    for size, row in zip(sizes, found, strict=True):
        if len(row) != size:
            raise Wrong(f"there are {len(row)} lengths; it must be {size}")
    elevens = [tuple(row) for row in found if len(row) == 11]
    if len(set(elevens)) < len(elevens) / 2:
        raise Wrong(f"{len(elevens)} calls for 11 lengths had {len(set(elevens))} different answers",
                    "there are few ways in which the draws can come out, as with a generator of few seeds")
    few = [row.count(1) == 6 for row in elevens]
    exactly = math.comb(11, 6) * PUBLISHED[0] ** 6 * (1 - PUBLISHED[0]) ** 5
    share("6 of 11 lengths are 1", sum(few), len(few), exactly,
          "the lengths are dealt out in fixed shares; each must be drawn by itself")  # fmt: skip
    for size in (1, 2):
        rows = [row for row in found if len(row) == size]
        share(f"lengths of 1, where {size} are asked for", [n for row in rows for n in row].count(1), size * len(rows),
              PUBLISHED[0], "seen: where few lengths are asked for, other chances hold")  # fmt: skip


def instead(lengths):
    """Which number stands in the place of a length, in words, or None."""
    counts = collections.Counter(np.ravel(numbers("lengths", lengths)).tolist())
    return other_number(counts, dict(zip((1, 2, 3), PUBLISHED, strict=True)))


DEPENDENT = "seen: a length depends on another one; each must be drawn by itself"
PUBLISHED = 6 / 11, 3 / 11, 2 / 11
LENGTHS = {
    "all lengths have the same chance; a length of n must have 1/n times the chance of 1": (1 / 3, 1 / 3, 1 / 3),
    "long ones are drawn more often than short ones: the table is the wrong way round": (2 / 11, 3 / 11, 6 / 11),
    "the chances grow with the length: 1, 2, 3 instead of 1, 1/2, 1/3": (1 / 6, 1 / 3, 1 / 2),
    "each length has half the chance of the one before: 1, 1/2, 1/4 instead of 1, 1/2, 1/3": (4 / 7, 2 / 7, 1 / 7),
    "the chances are 1, 1/4, 1/9 instead of 1, 1/2, 1/3": (36 / 49, 9 / 49, 4 / 49),
    "the chances fall evenly: 3, 2, 1 instead of 1, 1/2, 1/3": (1 / 2, 1 / 3, 1 / 6),
    "every length is 1": (1.0, 0.0, 0.0),
}


@lesson.check(1, "words of pieces", of="find_words", formula="ordinary tokens up to the next that begins a word")
def words(yours, draw):
    compare_words(yours, draw)
    narrow_untouched(yours, "find_words", *bare(draw))


SPAN = "neighbouring words, shortened while they have more tokens than are left; left out if one is taken"


@lesson.check(1.5, "spans of words", of="choose_spans", formula=SPAN)
def spans(yours, draw):
    compare_spans(yours, draw)
    yours.untouched()


@lesson.check(1, "as the library's instances", of="choose_spans", formula=SPAN)
def library(yours, draw):
    compare_library(yours, draw)


@lesson.check(0.5, "rng alone, inputs untouched", of="mask_tokens", formula="one seed, one answer")
def purity(yours, draw):
    document, ids = written(draw, 6), text(draw, 400)
    repeats("order_pair", lambda rngs: yours.each("order_pair", [(document, rng) for rng in rngs]), draw)
    repeats("mask_tokens", lambda rngs: yours.each("mask_tokens", [(ids, rng, 1000) for rng in rngs]), draw, True)
    repeats("ngram_lengths", lambda rngs: yours.each("ngram_lengths", [(50, rng) for rng in rngs]), draw)
    yours.assemble([5] * 15, [6] * 10, 12)
    narrow_untouched(yours, "mask_tokens", ids, rng(draw), 1000)
