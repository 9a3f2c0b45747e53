"""A variant of exercise 8: masked words and BERT's next sentences."""

from ...compare import Wrong, shown
from ...lesson import Lesson
from .chances import even, likely, repeats, rng, rngs, share, shares, surprise, unrelated
from .documents import compare_draws, joined, starts, two_parts, written
from .inputs import ASSEMBLE, MASK_TOKENS, add_inputs
from .masked_words import narrow_untouched, text
from .sentences import flag

variant = Lesson(
    "ex08-nsp", "masked words and next sentences", minutes=70, variant_of="ex08",
    functions={"nsp_pair": "first, second, is_random", "assemble": ASSEMBLE, "mask_tokens": MASK_TOKENS},
)  # fmt: skip


def library(draw, count=5):
    """Documents of 2 to 5 sentences in which no token comes twice, one of 2 sentences and one of 15 among them."""
    sizes = [2, *(int(n) for n in draw.integers(2, 6, count - 2)), 15]
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
        elif claimed and not any(second in tails(other) for other in documents if other is not own):
            says = "it must be another document's sentences, from one on to its end"
            raise Wrong(f"second is {shown(second)}; {says}")
    if unlike:
        raise Wrong(unlike[0], "the label is the wrong way round: 1 means random" if len(unlike) == calls else None)


@variant.check(1, "fair draws", of="nsp_pair", formula="is_random with probability 1/2, each cut with 1/(n-1)")
def fair_next(yours, draw):
    def pairs_of(sentences):
        others = 1 if draw.first else 4
        documents = [written(draw, size, start=500 * (i + 1)) for i, size in enumerate([sentences] + [3] * others)]
        ends, own = starts(documents[0]), joined(documents[0])

        def pair(first, second):
            return second[0] not in own, ends.index(len(first)) if len(first) in ends else 0

        def pairs(count):
            answers = yours.each("nsp_pair", [(documents, 0, seeded) for seeded in rngs(draw, count)])
            return [pair(*two_parts(first, second)) for first, second, _ in answers]

        return pairs

    causes = "the second part never comes from elsewhere", "it always comes from elsewhere"
    compare_draws(draw, pairs_of, "second parts of another document", causes)


DOUBT = 6.0                                          # surprise at which more calls are asked for
DEPENDENT = "where the second part begins depends on where the first ends; each needs a draw of its own"


@variant.check(1, "another document", of="nsp_pair", formula="each other document, and each of its sentences, alike")
def elsewhere(yours, draw):
    if draw.first:
        doubtful = compare_elsewhere(yours, draw, [3, 3, 3, 3], 1, 1600)
        compare_equal_texts(yours, draw)
        if doubtful:                                 # of right answers, fewer than one in a hundred
            compare_elsewhere(yours, draw, [3, 3, 3, 3], 1, 6400)
    else:
        compare_elsewhere(yours, draw, [5] * 11 + [2], 11, 400)
        compare_elsewhere(yours, draw, [3, *draw.rng.permutation([1, 2, 8]).tolist()], 0, 400)


def compare_elsewhere(yours, draw, sizes, number, calls):
    """The second parts, in so many calls, for the document of this number; sizes: the sentences of each document

    Returns whether a document, or a sentence, was drawn so often, or so seldom, that more calls must tell.
    """
    documents, D = [written(draw, size, start=100 * (i + 1)) for i, size in enumerate(sizes)], len(sizes)
    homes, begins = {i: 0 for i in range(D) if i != number}, {i: [] for i in range(D)}
    places = {tuple(tail): place for document in documents for place, tail in enumerate(tails(document))}
    own, ends, cuts = joined(documents[number]), starts(documents[number]), []
    asked = [(documents, number, seeded) for seeded in rngs(draw, calls)]
    for first, second, is_random in yours.each("nsp_pair", asked):
        first, second = two_parts(first, second)
        if second == own[len(first) :]:
            continue
        if home(second) == number:
            cause = "its own is among those that are drawn from" if is_random else None
            raise Wrong("a second part is from the same document, and not what follows first", cause)
        homes[home(second)] = homes.get(home(second), 0) + 1
        if tuple(second) in places:
            begins[home(second)].append(places[tuple(second)])
            cuts.append((ends.index(len(first)) if len(first) in ends else 0, home(second), places[tuple(second)]))
    if sum(map(len, begins.values())) < calls // 8:
        found = sum(map(len, begins.values()))
        raise Wrong(f"{found} of {calls} second parts are another document's sentences up to its end; "
                    "it must be about half of them")  # fmt: skip
    by_length = [sizes[i] / (sum(sizes) - sizes[number]) for i in homes]
    twice = {j: [(2 if i == j else 1) / D for i in homes] for j in homes}
    stepped = [(i != D - 1) * (2 if i == number + 1 else 1) / (D - 1) for i in homes]
    stands = "where the own number is drawn {} stands for it, which then has twice the chance".format
    known = {
        "long documents are drawn more often; each must have the same chance": by_length,
        stands("the next one"): twice[(number + 1) % D],
        "other == number is asked, where >= is meant: the next has twice the chance, and the last none": stepped,
    } | {stands(f"document {j}"): chances for j, chances in twice.items()}
    shares(f"from document {{}}, of {D - 1} others", homes, [1 / (D - 1)] * (D - 1), known)
    even(f"from {D - 1} other documents", list(homes.values()))
    for i, found in begins.items():
        for sentence in range(sizes[i]):
            share(f"from sentence {sentence + 1} of {sizes[i]} on", found.count(sentence), len(found), 1 / sizes[i],
                  "seen: every sentence must have the same chance to be the first")  # fmt: skip
    size = sizes[0]                                  # of most
    together = [place for i, found in begins.items() for place in found if sizes[i] == size]
    for sentence in range(size):
        share(f"from sentence {sentence + 1} of {size} on", together.count(sentence), len(together), 1 / size,
              "seen: every sentence must have the same chance to be the first")  # fmt: skip
    unrelated("from document {}, where first has {} sentences", [(cut, other) for cut, other, _ in cuts], DEPENDENT)
    of_one_size = [(cut, place + 1) for cut, other, place in cuts if sizes[other] == size]
    unrelated(f"from sentence {{}} of {size} on, where first has {{}} sentences", of_one_size, DEPENDENT)
    rows = list(homes.values()), [together.count(sentence) for sentence in range(size)]
    return any(surprise(count / sum(row), 1 / len(row), sum(row)) > DOUBT for row in rows if any(row) for count in row)


def compare_equal_texts(yours, draw):
    """A document is another one where its text is the same: six of seven documents have one text."""
    calls, documents = 120, [written(draw, 3, start=100)] * 6 + [written(draw, 3, start=500)]
    copied = [[list(sentence) for sentence in document] for document in documents]
    seconds = [two_parts(*yours.nsp_pair(copied, 0, rng(draw))[:2])[1] for _ in range(calls)]
    share("second parts of the one document with another text, of 7 documents", sum(home(s) == 4 for s in seconds),
          calls, 1 / 12, "another document is one with another number, also where its text is the same")  # fmt: skip
    twins, calls = [written(draw, 2, start=100)] * 3, 320
    answers = yours.each("nsp_pair", [(twins, 0, seeded) for seeded in rngs(draw, calls)])
    count = sum(flag("is_random", a[2]) for a in answers)
    cause = "the label is found by comparing texts: a random part may be equal to the rest"
    by_text = likely(count, calls, 1 / 4)            # half of the random parts are the second of two sentences
    said = "pairs that are said to be random, of documents with one text"
    share(said, count, calls, 1 / 2, cause if by_text else None)


add_inputs(variant)


@variant.check(0.5, "rng alone, inputs untouched", of="mask_tokens", formula="one seed, one answer")
def purity_next(yours, draw):
    documents, ids = library(draw), text(draw, 400)
    last = len(documents) - 1
    repeats("nsp_pair", lambda rngs: yours.each("nsp_pair", [(documents, last, rng) for rng in rngs]), draw)
    repeats("mask_tokens", lambda rngs: yours.each("mask_tokens", [(ids, rng, 1000) for rng in rngs]), draw, True)
    yours.assemble([5] * 15, [6] * 10, 12)
    narrow_untouched(yours, "mask_tokens", ids, rng(draw), 1000)
