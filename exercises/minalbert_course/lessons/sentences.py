"""What both forms of exercise 8 ask: [CLS] a [SEP] b [SEP], and masked words.

Every right answer draws in its own way. What holds for each draw is checked exactly; how often something happens is
counted, and a count is wrong only where Chernoff's bound, P ≤ 2 exp(-n KL(seen ‖ p)), falls below 2 exp(-27) = 4e-12.
With fewer than 100 counts in six draws, a right answer fails the whole exercise by chance less than once in 1e9 times.
"""

import math

import numpy as np

from ..compare import Wrong, equal, numbers, shown
from ..given import Given
from ..outside import numbers as stored

CLS, SEP, MASK, ORDINARY = 2, 3, 4, 5
RARE = 27.0


def rng(draw):
    """Another generator at each call."""
    return Given.of("rng", int(draw.integers(0, 2**31)))


def share(what, count, n, p, cause=None):
    """Raise Wrong where `count` of n is no chance result for probability p."""
    seen = count / n
    pairs = ((seen, p), (1 - seen, 1 - p))
    distance = sum(a * math.log(a / b) if b else math.inf for a, b in pairs if a)
    if n * distance > RARE:
        raise Wrong(f"{what}: {count} of {n}, a share of {seen:.3g}; it should be near {p:.3g}", cause)


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


def text(draw, size, padding=0, vocab_size=25):
    """[CLS] a [SEP] b [SEP] of `size` ordinary tokens, and padding: an array."""
    words = draw.integers(ORDINARY, vocab_size, size)
    cut = int(draw.integers(1, size)) if size > 1 else 1
    return np.array([CLS, *words[:cut], SEP, *words[cut:], SEP, *[0] * padding])


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
    places = np.concatenate([ask(yours, draw, text(draw, 1000))[1] for _ in range(8)])
    share("chosen in the first half of the text", int((places <= 500).sum()), len(places), 0.5,
          "not every ordinary token has the same chance")  # fmt: skip


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


def check_rates(yours, draw):
    """Some 6000 chosen tokens."""
    vocab_size = 25 if draw.first else int(draw.integers(20, 26))
    words = vocab_size - ORDINARY
    seen = []
    for _ in range(20):
        ids = text(draw, 2000, vocab_size=vocab_size)
        masked, positions, _ = ask(yours, draw, ids, vocab_size)
        seen += zip(ids[positions].tolist(), masked[positions].tolist(), strict=True)
    n = len(seen)
    if n < 5000:
        raise Wrong(f"of 20 texts of 2000 ordinary tokens, {n} tokens are chosen in all; it must be 6000")
    share("[MASK]", sum(new == MASK for _, new in seen), n, 0.8, "8 of 10 chosen tokens become [MASK], not all")
    others = {new for old, new in seen if new not in (old, MASK)}
    if wrong := sorted(i for i in others if not ORDINARY <= i < vocab_size):
        raise Wrong(f"a chosen token became {wrong[0]}; it must be [MASK] (4) or one of {ORDINARY}..{vocab_size - 1}")
    share("left as they are", sum(new == old for old, new in seen), n, 0.1 + 0.1 / words)
    share("replaced by a random token", sum(new not in (old, MASK) for old, new in seen), n, 0.1 - 0.1 / words)
    if missing := sorted(set(range(ORDINARY, vocab_size)) - others):
        raise Wrong(f"in {n} draws, no chosen token became {missing[0]}", "some ordinary token can never be drawn")


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


def repeats(name, call, draw):
    """Raise Wrong unless the same seed gives the same answer. call(rng) -> anything"""
    given = rng(draw)
    if plain(call(given)) != plain(call(given)):
        raise Wrong(f"{name}: two generators of one seed gave two answers",
                    "something else than rng is drawn from: np.random, random, or a generator of your own", name)


def plain(value):
    """As lists and words, which can be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, list | tuple) else repr(value)
