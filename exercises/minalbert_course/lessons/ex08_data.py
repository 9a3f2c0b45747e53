"""Exercise 8: what ALBERT learns from: sentence order and masked words. Variant: BERT's next sentences."""

import numpy as np

from ..compare import Wrong, shown
from ..lesson import Lesson
from .sentences import ORDINARY, add_inputs, flag, repeats, rng, share, text, whole

ASSEMBLE, MASK_TOKENS = "input_ids, token_type_ids", "masked_ids, positions, labels"
lesson = Lesson(
    "ex08", "masked words and sentence order", minutes=70,
    functions={
        "order_pair": "first, second, swapped",
        "assemble": ASSEMBLE,
        "mask_tokens": MASK_TOKENS,
        "ngram_lengths": "lengths",
    },
)  # fmt: skip
variant = Lesson(
    "ex08-nsp", "masked words and next sentences", minutes=70, variant_of="ex08",
    functions={"nsp_pair": "first, second, is_random", "assemble": ASSEMBLE, "mask_tokens": MASK_TOKENS},
)  # fmt: skip
LESSONS = [lesson, variant]

FLAT = "the sentences of a part must be joined into one list of token ids"
SAME_CHANCE = "every place between two sentences must have the same chance"


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


ORDER = "swapped = 0: first + second = document; 1: second + first = document"


@lesson.check(1.5, "order and label", of="order_pair", formula=ORDER)
def order(yours, draw):
    for sentences in [2, 3, 4, 5, 6] * 6:
        document = written(draw, sentences)
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


@lesson.check(1, "fair draws", of="order_pair", formula="swapped with probability 1/2, each cut with 1/(n-1)")
def fair(yours, draw):
    document, calls = written(draw, 4), 300
    tokens, ends = joined(document), starts(document)
    swapped, cuts = 0, dict.fromkeys(ends[1:-1], 0)
    for _ in range(calls):
        first, second, _ = yours.order_pair(document, rng(draw))
        first, second = two_parts(first, second)
        swapped += first[0] != tokens[0]
        front = len(first if first[0] == tokens[0] else second)
        cuts[front] = cuts.get(front, 0) + 1
    cause = {0: "the parts are never swapped", calls: "the parts are always swapped"}.get(swapped)
    share("swapped", swapped, calls, 1 / 2, cause)
    for number, count in enumerate(list(cuts.values())[:3], 1):
        share(f"cut after sentence {number} of 4", count, calls, 1 / 3, SAME_CHANCE)


add_inputs(lesson)


@lesson.check(1, "n-grams, as published", of="ngram_lengths", formula="p(n) = (1/n) / (1 + 1/2 + 1/3)")
def ngrams(yours, draw):
    """The paper's section 3.1; 6/11, 3/11, 2/11 are the released script's."""
    count = 20000
    lengths = whole("lengths", yours.ngram_lengths(count, rng(draw)))
    if len(lengths) != count:
        raise Wrong(f"there are {len(lengths)} lengths; it must be {count}")
    if outside := sorted(set(lengths) - {1, 2, 3}):
        raise Wrong(f"a length is {outside[0]}; it must be 1, 2 or 3")
    counts = [lengths.count(n) for n in (1, 2, 3)]
    cause = None
    if max(counts) < 0.4 * count:
        cause = "all lengths have the same chance; a length of n must have 1/n times the chance of 1"
    elif counts[2] > counts[0]:
        cause = "long ones are drawn more often than short ones: the table is the wrong way round"
    for n, p in ((1, 6 / 11), (2, 3 / 11), (3, 2 / 11)):
        share(f"lengths of {n}", counts[n - 1], count, p, cause)


@lesson.check(0.5, "rng alone, inputs untouched", of="mask_tokens", formula="one seed, one answer")
def purity(yours, draw):
    document, ids = written(draw, 6), text(draw, 60)
    repeats("order_pair", lambda rng: yours.order_pair(document, rng), draw)
    repeats("mask_tokens", lambda rng: yours.mask_tokens(ids, rng, 1000), draw)
    repeats("ngram_lengths", lambda rng: (yours.ngram_lengths(50, rng),), draw)
    yours.assemble([5] * 15, [6] * 10, 12)
    yours.untouched()


def library(draw, count=5):
    """Documents of 2 to 5 sentences in which no token comes twice; one of 2 sentences among them."""
    sizes = [2, *(int(n) for n in draw.integers(2, 6, count - 1))]
    return [written(draw, size, start=100 * (i + 1)) for i, size in enumerate(sizes)]


def tails(document):
    """From each of its sentences to its end."""
    return [joined(document[i:]) for i in range(len(document))]


def home(tokens):
    """The number of the document that a token is from."""
    return tokens[0] // 100 - 1


NEXT = "is_random = 0: the rest of the document; 1: another document, from a sentence on to its end"


@variant.check(1.5, "next or random", of="nsp_pair", formula=NEXT)
def next_or_random(yours, draw):
    documents, calls, unlike = library(draw), 60, []
    for call in range(calls):
        number = call % len(documents)
        own = documents[number]
        first, second, is_random = yours.nsp_pair(documents, number, rng(draw))
        first, second = two_parts(first, second)
        claimed = flag("is_random", is_random)
        if len(first) not in starts(own)[1:-1] or first != joined(own)[: len(first)]:
            raise Wrong(f"first is {shown(first)}; it must be the first sentences of document {number}, and leave at "
                        f"least one: {shown(own)}")  # fmt: skip
        rest = joined(own)[len(first) :]
        if (second != rest) != claimed:
            unlike.append(f"is_random is {claimed}, but second is {'' if second == rest else 'not '}what follows first")
        elif claimed and not any(second in tails(other) for other in documents):
            raise Wrong(f"second is {shown(second)}; it must be a document's sentences, from one of them to the last")
    if unlike:
        raise Wrong(unlike[0], "the label is the wrong way round: 1 means random" if len(unlike) == calls else None)


@variant.check(1, "fair draws", of="nsp_pair", formula="is_random with probability 1/2, each cut with 1/(n-1)")
def fair_next(yours, draw):
    documents, calls = [written(draw, 4, start=100), written(draw, 3, start=200)], 300
    ends, own = starts(documents[0]), joined(documents[0])
    cuts, random = dict.fromkeys(ends[1:-1], 0), 0
    for _ in range(calls):
        first, second, _ = yours.nsp_pair(documents, 0, rng(draw))
        first, second = two_parts(first, second)
        random += second != own[len(first) :]
        cuts[len(first)] = cuts.get(len(first), 0) + 1
    cause = {0: "the second part never comes from elsewhere", calls: "it always comes from elsewhere"}.get(random)
    share("second parts that are not the rest", random, calls, 1 / 2, cause)
    for number, count in enumerate(list(cuts.values())[:3], 1):
        share(f"cut after sentence {number} of 4", count, calls, 1 / 3, SAME_CHANCE)


@variant.check(1, "another document", of="nsp_pair", formula="each other document, and each of its sentences, alike")
def elsewhere(yours, draw):
    documents, calls = [written(draw, 3, start=100 * (i + 1)) for i in range(4)], 400
    number = 1 + draw.number % 3
    homes, begins = dict.fromkeys((i for i in range(4) if i != number), 0), []
    places = {tuple(tail): place for document in documents for place, tail in enumerate(tails(document))}
    own = joined(documents[number])
    for _ in range(calls):
        first, second, _ = yours.nsp_pair(documents, number, rng(draw))
        first, second = two_parts(first, second)
        if second == own[len(first) :]:
            continue
        if home(second) == number:
            raise Wrong("a random second part is from the same document", "draw among the others alone")
        homes[home(second)] = homes.get(home(second), 0) + 1
        begins += [places[tuple(second)]] if tuple(second) in places else []
    if len(begins) < calls // 8:
        raise Wrong(f"{len(begins)} of {calls} second parts are another document's sentences up to its end; "
                    "it must be about half of them")  # fmt: skip
    for name, count in list(homes.items())[:3]:
        share(f"from document {name}, of three others", count, sum(homes.values()), 1 / 3)
    for sentence in range(3):
        share(f"from sentence {sentence + 1} of 3 on", begins.count(sentence), len(begins), 1 / 3,
              "every sentence must have the same chance to be the first")  # fmt: skip


add_inputs(variant)


@variant.check(0.5, "rng alone, inputs untouched", of="mask_tokens", formula="one seed, one answer")
def purity_next(yours, draw):
    documents, ids = library(draw), text(draw, 60)
    repeats("nsp_pair", lambda rng: yours.nsp_pair(documents, 0, rng), draw)
    repeats("mask_tokens", lambda rng: yours.mask_tokens(ids, rng, 1000), draw)
    yours.assemble([5] * 15, [6] * 10, 12)
    yours.untouched()
