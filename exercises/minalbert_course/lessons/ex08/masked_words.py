"""Masked words, which both forms of exercise 8 ask.

What holds for each draw is checked exactly; how often something happens is counted, see `chances`.
"""

import math
from collections import Counter
from itertools import pairwise, permutations

import numpy as np

from ...compare import Wrong, equal, shown
from .altered import altered, changes
from .chances import even, likely, pairs_alike, rngs, share, shares
from .sentences import CLS, MASK, ORDINARY, SEP, UNK, whole


def text(draw, size, padding=0, words=(ORDINARY, 25)):
    """[CLS] a [SEP] b [SEP] of `size` ordinary tokens, [UNK] and [MASK] among them, and padding: an array."""
    tokens = draw.integers(*words, size).tolist()
    cut = int(draw.integers(1, size)) if size > 1 else 1
    tokens = [CLS, *tokens[:cut], SEP, *tokens[cut:], SEP]
    for i in range(size % 4):
        tokens.insert(int(draw.integers(1, len(tokens))), MASK if i == 2 else UNK)
    return np.array(tokens + [0] * padding)


def crowded(draw, token):
    """A text of 40 tokens, of which 31 are this special one."""
    ids = text(draw, 40)
    ids[np.flatnonzero(ids >= ORDINARY)[:31]] = token
    return ids


NARROW = "an array of int32 is not copied: astype(..., copy=False) and asarray may give the array itself; take a copy"


def narrow_untouched(yours, name, ids, *others):
    """`untouched`, then for the ids as an array of int32."""
    yours.untouched()
    getattr(yours, name)(ids.astype(np.int32), *others)
    if yours.wrote:
        raise Wrong(yours.wrote, NARROW, name)


def ask_each(yours, draw, texts, vocab_size=25):
    pairs = zip(texts, rngs(draw, len(texts)), strict=True)
    answers = yours.each("mask_tokens", [(ids, seeded, vocab_size) for ids, seeded in pairs])
    return (arrays(ids, *answer) for ids, answer in zip(texts, answers, strict=True))


def arrays(ids, masked, positions, labels):
    masked, positions = whole("masked_ids", masked), whole("positions", positions)
    labels = whole("labels", labels)
    if len(masked) != len(ids):
        raise Wrong(f"masked_ids has {len(masked)} tokens; it must have {len(ids)}, as input_ids",
                    cause_of_order(ids, masked, positions, labels))  # fmt: skip
    if any(not 0 <= place < len(ids) for place in positions):
        raise Wrong(f"positions are {shown(positions)}; they must lie in 0..{len(ids) - 1}",
                    cause_of_order(ids, masked, positions, labels))  # fmt: skip
    return np.array(masked), np.array(positions, int), np.array(labels)


def cause_of_order(ids, *returned):
    """Is it right in another order? In words, or None."""
    names = "masked_ids", "positions", "labels"
    for order in permutations(range(3)):
        masked, positions, labels = (returned[i] for i in order)
        if len(masked) != len(ids) or len(positions) != len(labels) or not set(positions) <= set(range(len(ids))):
            continue
        others = [i for i in range(len(ids)) if i not in positions]
        if [ids[i] for i in positions] == labels and [ids[i] for i in others] == [masked[i] for i in others]:
            return f"they come back in another order: {', '.join(names[order.index(i)] for i in range(3))}"
    return None


def check_positions(yours, draw):
    counts, sizes = [], (*range(1, 10), *(int(n) for n in draw.integers(11, 29, 12)), 37, 53, 200)
    texts = *(text(draw, size, padding=size % 3) for size in sizes), crowded(draw, UNK), crowded(draw, MASK)
    for ids, (_, positions, _) in zip(texts, ask_each(yours, draw, texts), strict=True):
        size = int((ids >= ORDINARY).sum())
        special = sorted({int(i) for i in ids[positions] if i < ORDINARY})
        if special:
            raise Wrong(f"a special token is chosen: id {special[0]}", "choose among the ids from 5 on alone")
        counts.append((size, int((ids > 0).sum()), len(ids), len(positions)))
        if len(set(positions.tolist())) != len(positions):
            raise Wrong(f"a position is there twice: {shown(positions.tolist())}", "they are drawn with replacement")
        if (np.diff(positions) < 0).any():
            raise Wrong(f"positions are {shown(positions.tolist())}; they must be sorted")
    check_counts(counts)
    check_places(yours, draw)


RIGHT = (                                            # of n ordinary tokens, `there` of all but padding
    lambda n, there: max(1, round(0.15 * n)),
    lambda n, there: min(n, max(1, round(0.15 * there))),    # as the released program counts
)
COUNTS = {                                           # of n ordinary tokens among T
    "at least one must be chosen": lambda n, T: round(0.15 * n),
    "at least one must be chosen, and 15 % is rounded down; it must be the nearest whole number":
        lambda n, T: int(0.15 * n),
    "padding is counted": lambda n, T: min(n, max(1, round(0.15 * T))),
    "15 % is rounded down; it must be the nearest whole number": lambda n, T: max(1, int(0.15 * n)),
    "15 % is rounded up; it must be the nearest whole number": lambda n, T: max(1, math.ceil(0.15 * n)),
    "never more than 20 are chosen": lambda n, T: min(20, max(1, round(0.15 * n))),
    "one more than 15 %": lambda n, T: max(1, round(0.15 * n)) + 1,
    "all ordinary tokens are chosen": lambda n, T: n,
    "one is chosen, however many there are": lambda n, T: 1,
    "none is chosen": lambda n, T: 0,
}  # fmt: skip


def check_counts(counts):
    """counts: [(ordinary tokens, all but padding, all, chosen)]"""
    if any(all(rule(n, there) == k for n, there, _, k in counts) for rule in RIGHT):
        return
    for size, there, _, found in counts:
        wanted = RIGHT[0](size, there)
        if found != wanted:
            cause = next((says for says, rule in COUNTS.items() if all(rule(n, T) == k for n, _, T, k in counts)), None)
            cause = cause or other_share([(n, k) for n, _, _, k in counts])
            if not cause and all(not k for n, _, _, k in counts if n < 4):
                cause = "seen: in a short text none is chosen, and at least one must be"
            raise Wrong(f"{found} of {size} ordinary tokens are chosen; it must be {wanted}", cause)


def other_share(counts):
    """Which share of the ordinary tokens, rounded, is chosen everywhere, in words; or None. counts: [(of, chosen)]"""
    least = max((k - 0.5) / n for n, k in counts if k > 1) if any(k > 1 for _, k in counts) else 0.0
    most = min((k + 0.5) / n for n, k in counts)
    if not 0 < least <= most or any(k < 1 for _, k in counts):
        return None
    return f"a share of {(least + most) / 2:.3g} of the ordinary tokens is chosen; it must be 0.15"


def check_places(yours, draw):
    """Two of n, as often each, and each with each; a half of many; one of a few."""
    size, calls = 12, 300 if draw.first else 120     # of 12, and of the 15 with special tokens, two are chosen
    ids = text(draw, size)
    ordinary = np.flatnonzero(ids >= ORDINARY)
    chosen = np.array([np.searchsorted(ordinary, asked[1]) for asked in ask_each(yours, draw, calls * [ids])])
    cause = "seen: not every ordinary token has the same chance"
    if (chosen == chosen[0]).all():
        cause = "the same places are chosen each time: nothing is drawn from rng"
    for place in range(size):
        share(f"chosen: ordinary token {place + 1} of {size}", int((chosen == place).sum()), calls, 2 / size, cause)
    neighbours = int((chosen[:, 1] - chosen[:, 0] == 1).sum())
    dependent = "seen: the places are not drawn independently of each other"
    share("two neighbours chosen", neighbours, calls, 2 / size, dependent)
    halves = chosen >= size / 2
    share("two of one half chosen", int((halves[:, 0] == halves[:, 1]).sum()), calls, 5 / 11, dependent)
    long = [text(draw, 1000) for _ in range(8)]
    ordinary = [np.flatnonzero(ids >= ORDINARY) for ids in long]
    places = np.concatenate([np.searchsorted(*each) for each in zip(
        ordinary, (asked[1] for asked in ask_each(yours, draw, long)), strict=True)])  # fmt: skip
    for where, these, p in (("in the first half of the text", places < 500, 0.5),
                            ("among the first 20 ordinary tokens of 1000", places < 20, 0.02),
                            ("among the last 20 ordinary tokens of 1000", places >= 980, 0.02)):  # fmt: skip
        share(f"chosen {where}", int(these.sum()), len(places), p, cause)
    few = text(draw, 5)
    chosen = [int(asked[1][0]) for asked in ask_each(yours, draw, 100 * [few])]
    even("the one that is chosen of 5", [chosen.count(place) for place in np.flatnonzero(few >= ORDINARY)],
         "seen: where one is chosen, not every ordinary token has the same chance")  # fmt: skip


def check_labels(yours, draw):
    asked, sizes = [], draw.integers(1, 60, 25).tolist()
    texts = [text(draw, size, words=(ORDINARY, 250000 if number % 5 == 4 else 25)) for number, size in enumerate(sizes)]
    answers = ask_each(yours, draw, texts, 250000)
    for size, ids, (masked, positions, labels) in zip(sizes, texts, answers, strict=True):
        if not len(positions):
            raise Wrong(f"none of {size} ordinary tokens is chosen; at least one must be")
        changed = np.flatnonzero(masked != ids)
        outside = [int(i) for i in changed if i not in positions]
        if outside:
            raise Wrong(f"masked_ids differs from input_ids at {outside[0]}, which is not among the positions",
                        cause_of_others(ids, masked, positions))  # fmt: skip
        if len(labels) != len(positions):
            raise Wrong(f"there are {len(labels)} labels for {len(positions)} positions")
        asked.append((ids, masked, positions, labels))
    for ids, _, positions, labels in asked:
        if (labels != ids[positions]).any():
            equal("labels", labels, ids[positions], cause_of_labels(asked))


def cause_of_others(ids, masked, positions):
    """Why do masked_ids differ where no token was chosen? In words, or None."""
    changed = np.flatnonzero(masked != ids)
    for step, off in ((1, "small"), (-1, "large")):
        if len(changed) > 1 and np.isin(changed, positions + step).all():
            return f"positions are one too {off}: the token that was changed stands at its position {step:+d}"
    rest = np.setdiff1d(np.arange(len(ids)), positions)
    for says, other in changes(ids.tolist()).items():
        if len(other) == len(ids) and len(rest) > 2 and (np.array(other)[rest] == masked[rest]).all():
            return f"where no token was chosen this is {says.format('input_ids').rstrip(',')}"
    return None


def cause_of_labels(asked):
    """asked: [(ids, masked, positions, labels)], of every text"""
    if all((labels == masked[positions]).all() for _, masked, positions, labels in asked):
        return "they are what stands there after masking; the label is the token that stood there before"
    if all((labels == positions).all() for _, _, positions, labels in asked):
        return "these are the positions; the label is the token that stood there"
    for step, side in ((1, "right"), (-1, "left")):
        if all((labels == np.roll(ids, -step)[positions]).all() for ids, _, positions, labels in asked):
            return f"these are the tokens one place to the {side} of the positions"
    if all((labels == ids[-positions]).all() for ids, _, positions, labels in asked):
        return "the positions are counted from the end"
    if kept_by_size(asked):
        return "texts of one size have the same labels: something is kept from an earlier call"
    return altered("labels", [(labels.tolist(), ids[positions].tolist()) for ids, _, positions, labels in asked])


def kept_by_size(asked):
    """Have all texts with as many tokens, and as many of them chosen, the same labels, though others are right?"""
    sizes, differ = {}, False
    for ids, _, positions, labels in asked:
        size = len(ids), int((ids >= ORDINARY).sum()), len(positions)
        first, right = sizes.setdefault(size, (labels, ids[positions]))
        if (first != labels).any():
            return False
        differ = differ or (right != ids[positions]).any()
    return differ


KINDS = {                                            # the shares of [MASK], as they are, random tokens
    "all chosen tokens become [MASK]; it must be 8 of 10": (1.0, 0.0, 0.0),
    "none becomes a random token; one of 10 must": (0.8, 0.2, 0.0),
    "none is left as it is; one of 10 must be": (0.8, 0.0, 0.2),
    "9 of 10 become [MASK], and none a random token; it must be 8, 1 and 1": (0.9, 0.1, 0.0),
    "9 of 10 become [MASK], and none is left as it is; it must be 8, 1 and 1": (0.9, 0.0, 0.1),
    "the shares have changed places: 8 of 10 must become [MASK]": (0.1, 0.1, 0.8),
    "the shares have changed places: 8 of 10 must become [MASK], not stay as they are": (0.1, 0.8, 0.1),
    "of those that do not become [MASK] one of 10 becomes a random token; it must be half": (0.8, 0.18, 0.02),
    "of those that do not become [MASK] 9 of 10 become a random token; it must be half": (0.8, 0.02, 0.18),
}  # fmt: skip


def check_rates(yours, draw):
    """Each chosen token by a draw of its own; then the shares, of some 6000."""
    texts = [text(draw, 32) for _ in range(90 if draw.first else 80)]
    fates = [int((masked[positions] == MASK).sum()) for masked, positions, _ in ask_each(yours, draw, texts)]
    cause = {4: "the kinds are dealt out in fixed shares; each chosen token must have a draw of its own"}.get(
        fates[0] if len(set(fates)) == 1 else None)  # fmt: skip
    if {0, 5} == set(fates):
        cause = "one draw decides for all chosen tokens; each must have a draw of its own"
    elif set(fates) == {5}:
        cause = next(iter(KINDS))
    elif set(fates) == {0}:
        cause = "none becomes [MASK]; it must be 8 of 10"
    share("4 of 5 chosen tokens became [MASK]", fates.count(4), len(fates), 5 * 0.8**4 * 0.2, cause)
    asked = ask_each(yours, draw, [text(draw, 3) for _ in range(160)])
    alone = [masked[positions] for masked, positions, _ in asked if len(positions) == 1]
    count = sum(MASK in masked for masked in alone)
    share("[MASK] where one token is chosen", count, len(alone), 0.8, "seen: where one is chosen, other chances hold")
    for words in (20,) if draw.first else (2, 1, int(draw.integers(15, 20))):
        half = ORDINARY, ORDINARY + max(min(words, 2), words // 2)   # of the vocabulary, unless that is very small
        texts = [text(draw, 2000, words=half) for _ in range(20)]
        answers = ask_each(yours, draw, texts, ORDINARY + words)
        compare_rates([became(ids, answer) for ids, answer in zip(texts, answers, strict=True)], words)
    check_large_vocabulary(yours, draw)
    if draw.first:
        check_words_alike(yours, draw)


def became(ids, answer):
    """[(a chosen ordinary token, what it became)]"""
    masked, positions, _ = answer
    positions = positions[ids[positions] >= ORDINARY]
    return list(zip(ids[positions].tolist(), masked[positions].tolist(), strict=True))


def check_large_vocabulary(yours, draw):
    """Random tokens come from each quarter of the vocabulary equally often, also where ids need more than 16 bits.

    Few come twice: of some 180, fewer than one pair is alike.
    """
    vocab_size, found = 200000 if draw.first else 30000, []
    texts = [text(draw, 2000, words=(vocab_size - 1000, vocab_size)) for _ in range(6)]
    for ids, (masked, positions, _) in zip(texts, ask_each(yours, draw, texts, vocab_size), strict=True):
        changed = (masked[positions] != MASK) & (masked[positions] != ids[positions])
        found += masked[positions][changed].tolist()
    if len(set(found)) < 0.8 * len(found):
        raise Wrong(f"{len(found)} random tokens of 6 texts are {len(set(found))} of {vocab_size} words",
                    "the same random tokens are drawn in every call: draw them from rng, too")  # fmt: skip
    quarters = [sum(4 * (new - ORDINARY) // (vocab_size - ORDINARY) == i for new in found) for i in range(4)]
    even(f"random tokens of each quarter of {vocab_size} words", quarters,
         "seen: not every ordinary token has the same chance")  # fmt: skip


def check_words_alike(yours, draw):
    """Random tokens of one text may be alike, also where there are as many words as tokens that are chosen."""
    words, one, pairs, alike = 300, ORDINARY, 0, 0
    texts = [text(draw, 2000, words=(one, one + 1)) for _ in range(28)]
    for masked, positions, _ in ask_each(yours, draw, texts, ORDINARY + words):
        news = masked[positions][~np.isin(masked[positions], (MASK, one))].tolist()
        pairs += math.comb(len(news), 2)
        alike += sum(math.comb(count, 2) for count in Counter(news).values())
    cause = "the random tokens of one text are drawn without replacement; each must be any of the vocabulary"
    share("two random tokens of one text are alike", alike, pairs, 1 / (words - 1), cause if not alike else None)


BY_ANOTHER = "what becomes of a token depends on that of another; each must have a draw of its own"


def compare_kinds(rows, words):
    """Do two chosen tokens become something else than [MASK] together as often as by two draws, and the same thing?

    rows: of every text 0 for [MASK], 1 for a token that is as it was, 2 for a random one
    """
    left, random = 0.1 + 0.1 / words, 0.1 - 0.1 / words
    for chance, says, others in (
        (0.04, "are not [MASK]", [np.minimum(row, 1) for row in rows]),
        (left**2 + random**2, "are both as they were, or both random", rows),
    ):
        lone = [np.where(row > 0, row, -np.arange(len(row))) for row in others]      # no [MASK] is like another
        pairs_alike("two chosen tokens of one text", lone, chance, BY_ANOTHER, says)


def compare_counts(rows):
    """Do texts have just 8 of 10 chosen tokens as [MASK] no more often than by draws? rows: of every text, which are"""
    near, chance = 0, 0.0
    for row in rows:
        n, around = len(row), range(round(0.8 * len(row)) - 1, round(0.8 * len(row)) + 2)
        near += int(row.sum()) in around
        chance += sum(math.comb(n, k) * 0.8**k * 0.2 ** (n - k) for k in around) / len(rows)
    share("texts of which 8 of 10 chosen tokens became [MASK], to a token", near, len(rows), chance,
          "the kinds are dealt out in fixed shares; each chosen token must have a draw of its own")  # fmt: skip


def compare_rates(texts, words):
    """texts: [[(token, what it became)]]"""
    seen, last = [pair for pairs in texts for pair in pairs], ORDINARY + words - 1
    n = len(seen)
    if n < 5000:
        raise Wrong(f"of 20 texts of 2000 ordinary tokens, {n} tokens are chosen in all; it must be 6000")
    others = [[new for old, new in pairs if new not in (old, MASK)] for pairs in texts]
    drawn = {new for news in others for new in news}
    if wrong := sorted(i for i in drawn if not ORDINARY <= i <= last):
        cause = "random tokens are drawn among special ones, too" if wrong[0] < ORDINARY else None
        cause = "vocab_size itself is no token: the last is vocab_size - 1" if wrong == [last + 1] else cause
        raise Wrong(f"a chosen token became {wrong[0]}; it must be [MASK] (4) or one of {ORDINARY}..{last}", cause)
    counts = {"[MASK]": sum(new == MASK for _, new in seen), "left as they are": sum(new == old for old, new in seen)}
    counts["replaced by a random token"] = n - sum(counts.values())
    known = {says: (a, b + c / words, c - c / words) for says, (a, b, c) in KINDS.items() if words > 2}
    if likely(counts["left as they are"], n, 0.1):
        known["the random token is never the one that stands there; it must be any of the vocabulary"] = (0.8, 0.1, 0.1)
    shares("{}", counts, (0.8, 0.1 + 0.1 / words, 0.1 - 0.1 / words), known)
    left = [new == MASK for pairs in texts for _, new in pairs[: len(pairs) // 2]]
    share("[MASK] among the chosen tokens of a text's first half", sum(left), len(left), 0.8,
          "seen: what becomes of a token depends on its place; each must have a draw of its own")  # fmt: skip
    rows = [np.array([new == MASK for _, new in pairs]) for pairs in texts]
    pairs_alike("two chosen tokens of one text, [MASK] or not", rows, 0.68, BY_ANOTHER)
    compare_counts(rows)
    kinds = [np.array([0 if new == MASK else 1 if new == old else 2 for old, new in pairs]) for pairs in texts]
    compare_kinds(kinds, words)
    if words > 1 and (missing := sorted(set(range(ORDINARY, last + 1)) - drawn)):
        cause = "seen: not every ordinary token is drawn; is the range whole, and has each place its own draw?"
        if missing == list(range(ORDINARY + words // 2, last + 1)):
            cause = "random tokens are drawn from the text; they must be from the whole vocabulary"
        raise Wrong(f"in {n} draws, no chosen token became {missing[0]}", cause)
    news = [new for news in others for new in news]
    even("random tokens", [news.count(token) for token in range(ORDINARY, last + 1)],
         "seen: not every ordinary token has the same chance")  # fmt: skip
    pairs = [a == b for news in others for a, b in pairwise(news)]
    if words > 2:                                    # of two words, the other one follows from the token
        share("two random tokens of one text are alike", sum(pairs), len(pairs), 1 / words,
              "one random token stands for all of a text; each must be drawn by itself")  # fmt: skip
