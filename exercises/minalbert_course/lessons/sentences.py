"""What both forms of exercise 8 ask: [CLS] a [SEP] b [SEP], and masked words.

What holds for each draw is checked exactly; how often something happens is counted, see `chances`.
"""

from itertools import pairwise

import numpy as np

from ..compare import Wrong, equal, numbers, shown
from ..outside import numbers as stored
from .chances import likely, rng, share, shares

ASSEMBLE, MASK_TOKENS = "input_ids, token_type_ids", "masked_ids, positions, labels"
UNK, CLS, SEP, MASK, ORDINARY = 1, 2, 3, 4, 5


def whole(name, value, cause=None):
    """A list of whole numbers, from a list or an array of them; or Wrong."""
    try:
        array = numbers(name, value)
    except Wrong as error:
        raise Wrong(error.seen, error.cause or cause) from error
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        raise Wrong(f"{name} is {shown(value)}; it must be one list, or array, of whole numbers", cause)
    return [int(i) for i in array]


def flag(name, value):
    array = numbers(name, value)
    if array.size != 1 or array.item() not in (0, 1):
        raise Wrong(f"{name} is {shown(value)}; it must be 0 or 1")
    return int(array.item())


def assembled(first, second, max_length):
    first, second = list(first), list(second)
    while len(first) + len(second) + 3 > max_length:
        (first if len(first) > len(second) else second).pop()
    return [CLS, *first, SEP, *second, SEP], [0] * (len(first) + 2) + [1] * (len(second) + 1)


def compare_inputs(yours, first, second, max_length):
    """Compare what assemble returns, and name the cause if it is known."""
    ids, types = yours.assemble(list(first), list(second), max_length)
    ids, types = whole("input_ids", ids), whole("token_type_ids", types)
    right, right_types = assembled(first, second, max_length)
    asked = f"(parts of {len(first)} and {len(second)} tokens, max_length {max_length})"
    if len(ids) > max_length:
        cause = "[CLS] and two [SEP] are not counted" if len(ids) <= max_length + 3 else "nothing is shortened"
        raise Wrong(f"input_ids {asked} are {len(ids)} long", cause)
    if not ids or ids[-1] != SEP:
        cause = "the last [SEP] is not put on, or is cut off again: shorten the parts first, then put them together"
        raise Wrong(f"input_ids {asked} do not end in [SEP]: {ids}", cause)
    if ids.count(SEP) != 2:
        raise Wrong(f"input_ids {asked} have {ids.count(SEP)} [SEP]; they must have 2: {ids}")
    cause = None
    if len(ids) == len(right) and ids.index(SEP) != right.index(SEP):
        cause = "another part is shortened than the longer of the two (of equals, the second)"
    elif sorted(ids) != sorted(right) and len(ids) == len(right) < len(first) + len(second) + 3:
        cause = "tokens are taken from the front; they must go from the end"
    equal(f"input_ids {asked}", np.array(ids), np.array(right), cause)
    cause = None
    if sum(types) == sum(right_types) + 1:
        cause = "the first [SEP] ends the first part, so its type is 0"
    elif sum(types) == sum(right_types) - 1:
        cause = "the last [SEP] ends the second part, so its type is 1"
    equal(f"token_type_ids {asked}", np.array(types), np.array(right_types), cause)


def text(draw, size, padding=0, words=(ORDINARY, 25)):
    """[CLS] a [SEP] b [SEP] of `size` ordinary tokens, [UNK] and [MASK] among them, and padding: an array."""
    tokens = draw.integers(*words, size).tolist()
    cut = int(draw.integers(1, size)) if size > 1 else 1
    tokens = [CLS, *tokens[:cut], SEP, *tokens[cut:], SEP]
    for i in range(size % 4):
        tokens.insert(int(draw.integers(1, len(tokens))), MASK if i == 2 else UNK)
    return np.array(tokens + [0] * padding)


def ask(yours, draw, ids, vocab_size=25):
    masked, positions, labels = yours.mask_tokens(ids, rng(draw), vocab_size)
    masked, positions = whole("masked_ids", masked), whole("positions", positions)
    labels = whole("labels", labels)
    if len(masked) != len(ids):
        raise Wrong(f"masked_ids has {len(masked)} tokens; it must have {len(ids)}, as input_ids")
    if any(not 0 <= place < len(ids) for place in positions):
        raise Wrong(f"positions are {shown(positions)}; they must lie in 0..{len(ids) - 1}")
    return np.array(masked), np.array(positions, int), np.array(labels)


def check_positions(yours, draw):
    for size in (*range(1, 10), *(int(n) for n in draw.integers(11, 29, 12)), 37, 53):
        ids = text(draw, size, padding=size % 3)
        _, positions, _ = ask(yours, draw, ids)
        special = sorted({int(i) for i in ids[positions] if i < ORDINARY})
        if special:
            raise Wrong(f"a special token is chosen: id {special[0]}", "choose among the ids from 5 on alone")
        wanted = max(1, round(0.15 * size))
        if len(positions) != wanted:
            cause = None
            if not len(positions):
                cause = "at least one must be chosen"
            elif len(positions) == max(1, round(0.15 * len(ids))):
                cause = "special tokens or padding are counted"
            elif len(positions) == int(0.15 * size):
                cause = "15 % is rounded down; it must be the nearest whole number"
            raise Wrong(f"{len(positions)} of {size} ordinary tokens are chosen; it must be {wanted}", cause)
        if len(set(positions.tolist())) != len(positions):
            raise Wrong(f"a position is there twice: {shown(positions.tolist())}", "they are drawn with replacement")
        if (np.diff(positions) < 0).any():
            raise Wrong(f"positions are {shown(positions.tolist())}; they must be sorted")
    check_places(yours, draw)


def check_places(yours, draw):
    """Two of n, as often each, and each with each."""
    size, calls = (13, 240) if draw.first else (int(draw.integers(11, 17)), 120)
    ids = text(draw, size)
    ordinary = np.flatnonzero(ids >= ORDINARY)
    chosen = np.array([np.searchsorted(ordinary, ask(yours, draw, ids)[1]) for _ in range(calls)])
    cause = "seen: not every ordinary token has the same chance"
    if (chosen == chosen[0]).all():
        cause = "the same places are chosen each time: nothing is drawn from rng"
    for place in range(size):
        share(f"chosen: ordinary token {place + 1} of {size}", int((chosen == place).sum()), calls, 2 / size, cause)
    neighbours = int((chosen[:, 1] - chosen[:, 0] == 1).sum())
    dependent = "seen: the places are not drawn independently of each other"
    share("two neighbours chosen", neighbours, calls, 2 / size, dependent)
    places = np.concatenate([ask(yours, draw, text(draw, 1000))[1] for _ in range(8)])
    share("chosen in the first half of the text", int((places <= 500).sum()), len(places), 0.5, cause)


def check_labels(yours, draw):
    for size in draw.integers(1, 60, 25):
        ids = text(draw, int(size))
        masked, positions, labels = ask(yours, draw, ids)
        if not len(positions):
            raise Wrong(f"none of {size} ordinary tokens is chosen; at least one must be")
        changed = np.flatnonzero(masked != ids)
        outside = [int(i) for i in changed if i not in positions]
        if outside:
            raise Wrong(f"masked_ids differs from input_ids at {outside[0]}, which is not among the positions")
        if len(labels) != len(positions):
            raise Wrong(f"there are {len(labels)} labels for {len(positions)} positions")
        cause = None
        if (labels == masked[positions]).all():
            cause = "they are what stands there after masking; the label is the token that stood there before"
        equal("labels", labels, ids[positions], cause)


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
    fates = []
    for _ in range(90 if draw.first else 80):
        masked, positions, _ = ask(yours, draw, text(draw, 33))
        fates.append(int((masked[positions] == MASK).sum()))
    cause = {4: "the kinds are dealt out in fixed shares; each chosen token must have a draw of its own"}.get(
        fates[0] if len(set(fates)) == 1 else None)  # fmt: skip
    if {0, 5} == set(fates):
        cause = "one draw decides for all chosen tokens; each must have a draw of its own"
    elif set(fates) == {5}:
        cause = next(iter(KINDS))
    share("4 of 5 chosen tokens became [MASK]", fates.count(4), len(fates), 5 * 0.8**4 * 0.2, cause)
    words = 20 if draw.first else 2 if draw.number == 1 else int(draw.integers(15, 21))
    texts, vocab_size = [], ORDINARY + words
    for _ in range(20):                              # of half of the vocabulary alone, unless it is very small
        ids = text(draw, 2000, words=(ORDINARY, ORDINARY + max(2, words // 2)))
        masked, positions, _ = ask(yours, draw, ids, vocab_size)
        texts.append(list(zip(ids[positions].tolist(), masked[positions].tolist(), strict=True)))
    compare_rates(texts, words)


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
    known = {says: (a, b + c / words, c - c / words) for says, (a, b, c) in KINDS.items()}
    if likely(counts["left as they are"], n, 0.1):
        known["the random token is never the one that stands there; it must be any of the vocabulary"] = (0.8, 0.1, 0.1)
    shares("{}", counts, (0.8, 0.1 + 0.1 / words, 0.1 - 0.1 / words), known)
    if missing := sorted(set(range(ORDINARY, last + 1)) - drawn):
        cause = "seen: some ordinary token can never be drawn"
        if missing == list(range(ORDINARY + words // 2, last + 1)):
            cause = "random tokens are drawn from the text; they must be from the whole vocabulary"
        raise Wrong(f"in {n} draws, no chosen token became {missing[0]}", cause)
    pairs = [a == b for news in others for a, b in pairwise(news)]
    if words > 2:                                    # of two words, the other one follows from the token
        share("two random tokens of one text are alike", sum(pairs), len(pairs), 1 / words,
              "one random token stands for all of a text; each must be drawn by itself")  # fmt: skip


def check_layout(yours, draw):
    for sizes in ((4, 3), (1, 1), (2, 6)):
        first, second = (draw.integers(ORDINARY, 1000, size).tolist() for size in sizes)
        compare_inputs(yours, first, second, 16)


def check_too_long(yours, draw):
    for sizes in ((9, 4), (4, 9), (9, 8), (8, 8), (2, 12), tuple(int(n) for n in draw.integers(8, 15, 2))):
        first, second = (draw.integers(ORDINARY, 1000, size).tolist() for size in sizes)
        for max_length in (10, 13, 14):
            compare_inputs(yours, first, second, max_length)


def check_outside(yours, draw):
    """Lengths for which "the longer one" leaves no choice: there tokenizers does the same."""
    found = stored("ex08")
    for number, (first, second, max_length) in enumerate(found["asked"].tolist()):
        parts = (list(range(start, start + size)) for start, size in ((100, first), (200, second)))
        ids, types = yours.assemble(*parts, max_length)
        for name, answer in (("input_ids", ids), ("token_type_ids", types)):
            expected = found[f"{name}_{number}"]
            equal(f"{name} (the tokenizers library's)", np.array(whole(name, answer)), expected)


def add_inputs(lesson):
    of, layout = "assemble", "[CLS] a [SEP] b [SEP], types 0 up to the first [SEP], then 1"
    lesson.check(1.5, "layout", of, layout)(check_layout)
    lesson.check(1, "too long", of, "the longer part loses its last token, of equals the second, until all fits")(
        check_too_long)  # fmt: skip
    lesson.check(0.5, "as tokenizers", of, "Hugging Face's tokenizers, truncation longest_first")(check_outside)
    of, split = "mask_tokens", "80 % [MASK], 10 % as they are, 10 % any of 5..vocab_size-1"
    lesson.check(1, "positions", of, "max(1, round(0.15 n)) of the n ordinary tokens, sorted, each only once")(
        check_positions)  # fmt: skip
    lesson.check(1, "labels", of, "labels = input_ids[positions], as they were")(check_labels)
    lesson.check(1, "80/10/10", of, split)(check_rates)
