"""[CLS] a [SEP] b [SEP], which both forms of exercise 8 ask."""

import numpy as np

from ...compare import Wrong, equal, numbers, shown
from ...given import Given
from ...outside import numbers as stored
from ...values import Stopped
from .altered import altered, exchanged_numbers

UNK, CLS, SEP, MASK, ORDINARY = 1, 2, 3, 4, 5


def whole(name, value, cause=None):
    """A list of whole numbers, from a list or an array of them; or Wrong."""
    try:
        array = numbers(name, value)
    except Wrong as error:
        raise Wrong(error.seen, error.cause or cause) from error
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iub"):
        if array.ndim == 1 and array.dtype.kind == "f" and (array == np.round(array)).all():
            cause = cause or f"they are whole, but of dtype {array.dtype}: integers are asked for"
        raise Wrong(f"{name} is {shown(value)}; it must be one list, or array, of whole numbers", cause)
    return array.tolist() if array.dtype.kind in "iu" else [int(i) for i in array]


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


def compare_inputs(yours, asked):
    """Compare what assemble returns for each (first, second, max_length), and name the cause if it is known."""
    try:
        for given, answer in zip(asked, yours.each("assemble", asked), strict=True):
            compare_assembled(*answer, *given)
    except Stopped as error:
        if "RecursionError" in str(error):
            raise Wrong(str(error), DEEP, "assemble") from error
        raise


DEEP = "a function calls itself for each token too many; a part may have thousands of tokens"


def compare_assembled(ids, types, first, second, max_length):
    ids, types = whole("input_ids", ids), whole("token_type_ids", types)
    right, right_types = assembled(first, second, max_length)
    asked = f"(parts of {len(first)} and {len(second)} tokens, max_length {max_length})"
    if len(ids) > max_length:
        known = {
            "nothing is shortened": 10**6,
            "[CLS] and two [SEP] are not counted": max_length + 3,
            "[CLS] and one [SEP] are counted; there are two": max_length + 1,
            "[CLS] is counted alone; there are two [SEP]": max_length + 2,
        }
        if max_length < 10:                          # what was longer was right
            known = {"seen: it is shortened, but never so far: max_length may be 5": len(ids)}
        cause = next((says for says, longest in known.items() if ids == assembled(first, second, longest)[0]), None)
        raise Wrong(f"input_ids {asked} are {len(ids)} long", cause)
    if len(ids) > len(right) and ids == right + [0] * (len(ids) - len(right)):
        raise Wrong(f"input_ids {asked} are {len(ids)} long, and must be {len(right)}", "[PAD] is put on")
    if not ids or ids[-1] != SEP:
        cause = "the last [SEP] is not put on, or is cut off again: shorten the parts first, then put them together"
        raise Wrong(f"input_ids {asked} do not end in [SEP]: {ids}", cause)
    if ids.count(SEP) != 2:
        cause = exchanged_numbers([(ids, right)], (CLS, SEP)) or altered("input_ids", [(ids, right)])
        raise Wrong(f"input_ids {asked} have {ids.count(SEP)} [SEP]; they must have 2: {ids}", cause)
    equal(f"input_ids {asked}", np.array(ids), np.array(right), cause_of_inputs(ids, right, first, second, max_length))
    cause = None if types == right_types else cause_of_types(types, right_types, first, second)
    equal(f"token_type_ids {asked}", np.array(types), np.array(right_types), cause)


def cause_of_types(types, right, first, second):
    """first, second: the parts before they are shortened"""
    if exchanged := exchanged_numbers([(types, right)], (0, 1)):
        return exchanged
    if set(types) - {0, 1}:
        return None
    zeros, ones, a, b = types.count(0), types.count(1), right.count(0) - 2, right.count(1) - 1
    if types == right[::-1]:
        return "the order is the wrong way round"
    if sorted(types) != types:
        return "the ones come before the zeros" if sorted(types, reverse=True) == types else None
    if (zeros, ones) == (a + 1, b + 2):
        return "the first [SEP] ends the first part, so its type is 0"
    if (zeros, ones) == (a + 3, b):
        return "the last [SEP] ends the second part, so its type is 1"
    of_zeros = {
        0: "there is no 0", 1: "there is one 0, however long the first part is",
        2: "the first part's own tokens have no type", a: "[CLS] and the first [SEP] have no type",
        a + 1: "one of [CLS] and the first [SEP] has no type", a + 3: "there is a 0 too many",
        b + 2: "there are as many zeros as the second part's length asks for",
        len(first) + 2: "the zeros are counted before the first part is shortened", a + 2: "",
    }  # fmt: skip
    of_ones = {
        0: "there is no 1", 1: "the second part's own tokens have no type", b: "the last [SEP] has no type",
        b + 2: "there is a 1 too many", a + 1: "there are as many ones as the first part's length asks for",
        len(second) + 1: "the ones are counted before the second part is shortened", b + 1: "",
    }  # fmt: skip
    if zeros not in of_zeros or ones not in of_ones:
        return None
    return "; ".join(says for says in (of_zeros[zeros], of_ones[ones]) if says)


def cause_of_inputs(ids, right, first, second, max_length):
    """The cause of sequences that are shortened in another way, or None."""
    if ids == right:
        return None
    room, kept, mine = max_length - 3, right.index(SEP) - 1, ids.index(SEP) - 1
    rest = len(right) - kept - 3                     # of the second part
    known = {
        "parts are shortened to equal halves, also where one is short":
            [CLS, *first[: (room + 1) // 2], SEP, *second[: room // 2], SEP],
        "tokens are taken from the front; they must go from the end":
            shortened(first, second, room, lambda longer: longer.pop(0)),
        "tokens of the first part are taken from its front; they must go from its end":
            [CLS, *first[len(first) - kept :], SEP, *right[kept + 2 :]],
        "tokens of the second part are taken from its front; they must go from its end":
            [*right[: kept + 2], *second[len(second) - rest :], SEP],
        "[CLS] and the first [SEP] have changed places": [SEP, *right[1 : kept + 1], CLS, *right[kept + 2 :]],
        "a token is removed by its value, from where it comes first; the last one must go":
            shortened(first, second, room, lambda longer: longer.remove(longer[-1])),
        "of equals, the first part is shortened; it must be the second":
            shortened(first, second, room, larger=lambda a, b: a if len(a) >= len(b) else b),
        "the shorter part is shortened; it must be the longer":
            shortened(first, second, room, larger=lambda a, b: a if 1 < len(a) <= len(b) else b if len(b) > 1 else a),
        "it is shortened by one token too many: what just fits stays": assembled(first, second, max_length - 1)[0],
        "nothing is shortened": assembled(first, second, 10**6)[0],
        "special tokens are left out of the parts; a part may hold some, such as [UNK]":
            assembled(*([token for token in part if token >= ORDINARY] for part in (first, second)), max_length)[0],
        "[UNK] is left out of the parts, and belongs there":
            assembled(*([token for token in part if token != UNK] for part in (first, second)), max_length)[0],
    }  # fmt: skip
    cause = next((says for says, other in known.items() if ids == other != right), None)
    if not cause and 3 <= len(ids) < len(right) and ids == assembled(first, second, len(ids))[0]:
        cause = f"seen: it is shortened to {len(ids)} tokens, and max_length is {max_length}"
    if not cause and len(ids) == len(right) and ids == [CLS, *first[:mine], SEP, *second[: room - mine], SEP]:
        cause = "another part is shortened than the longer of the two (of equals, the second)"
    return cause or exchanged_numbers([(ids, right)], (CLS, SEP)) or altered(
        "input_ids", [(ids, right)], lambda **given: assembled(**given)[0],
        [{"first": list(first), "second": list(second), "max_length": max_length}])  # fmt: skip


def shortened(first, second, room, take=list.pop, larger=lambda a, b: a if len(a) > len(b) else b):
    first, second = list(first), list(second)
    while len(first) + len(second) > room:
        take(larger(first, second) or first or second)
    return [CLS, *first, SEP, *second, SEP]


def check_layout(yours, draw):
    sizes = ((4, 3), 1000), ((1, 1), 1000), ((2, 6), 250000)
    asked = [(*two_texts(draw, *given), 16) for given in sizes]
    compare_inputs(yours, [*asked, ([UNK, 7, MASK, 9], [8, UNK], 16), ([UNK], [UNK, UNK], 16)])


def two_texts(draw, sizes, end):
    return [draw.integers(ORDINARY, end, size).tolist() for size in sizes]


def check_too_long(yours, draw):
    asked = []
    for sizes in ((9, 4), (4, 9), (9, 8), (8, 8), (2, 12), tuple(int(n) for n in draw.integers(8, 15, 2))):
        two = two_texts(draw, sizes, 1000)
        asked += [(*two, max_length) for max_length in (10, 13, 14, sum(sizes) + 3)]
    asked.append((*two_texts(draw, (300, 260), 1000), 512))
    for sizes in ((1, 1), (1, 12), (12, 1), (2, 2), (40, 30)):
        two = two_texts(draw, sizes, ORDINARY + 4)       # words come twice
        asked += [(*two, max_length) for max_length in (5, 6, 7, 8, 9)]
    asked.append((*two_texts(draw, (300, 290), 1000), 300))
    asked.append(([6, UNK, 7, UNK, UNK], [UNK, 8, UNK, UNK], 8))
    asked.append((list(range(5, 3005)), list(range(3005, 5005)), 4100))
    long, short = list(range(5, 4005)), [5, 6, 7]
    asked += [(long, short, 64), (short, long, 64)]
    compare_inputs(yours, asked)
    compare_one_list(yours, [5, 6, 7, 8], 8)


ONE_LIST = "both parts may be one list: each needs a copy of its own, which is shortened alone"


def compare_one_list(yours, tokens, max_length):
    """Compare for two equal lists, and then for one and the same as both parts."""
    compare_inputs(yours, [(tokens, list(tokens), max_length)])
    if yours.wrote:                                  # which another check finds
        return
    one = Given.of("filled", "both parts", tokens)
    answer, right = yours.assemble(one, one, max_length), assembled(tokens, tokens, max_length)
    for name, mine, expected in zip(("input_ids", "token_type_ids"), answer, right, strict=True):
        equal(f"{name} (one list as both parts)", np.array(whole(name, mine)), np.array(expected), ONE_LIST)


def check_outside(yours, draw):
    """Lengths for which "the longer one" leaves no choice: there tokenizers does the same."""
    found = stored("ex08")
    for number, (first, second, max_length) in enumerate(found["asked"].tolist()):
        parts = (list(range(start, start + size)) for start, size in ((100, first), (200, second)))
        ids, types = yours.assemble(*parts, max_length)
        for name, answer in (("input_ids", ids), ("token_type_ids", types)):
            expected = found[f"{name}_{number}"]
            equal(f"{name} (the tokenizers library's)", np.array(whole(name, answer)), expected)
