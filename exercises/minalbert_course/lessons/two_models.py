"""States and guesses of two models, for exercise 13, and what known mistakes make of them."""

import numpy as np

from minalbert.layers import softmax

from ..compare import NOTHING, Wrong, equal, numbers, same, shown


def states(draw, size=1.0, layers=5):
    """As many states as a small model has, theirs, and ours, which differ by less than 1e-3."""
    B, T, H = draw.sizes(B=2, T=3, H=4, least=2)
    theirs = [size * draw.normal(B, T, H) for _ in range(layers)]
    return [state + draw.uniform(-9e-4, 9e-4, *state.shape) for state in theirs], theirs


def plain(value):
    """A number or a word of NumPy's as Python's."""
    single = isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 and value.dtype != object
    return value.item() if single else value


def compare_places(yours, cases):
    """cases: [(ours, theirs, limit, what is right)]   The cause is a mistake that gives the answers of all."""
    found = list(map(plain, yours.each("first_difference", [case[:3] for case in cases])))
    if all(type(answer) is type(case[3]) and answer == case[3] for answer, case in zip(found, cases, strict=True)):
        return
    known = [mistaken_places(*case[:3]) for case in cases]
    cause = next((says for says in known[0] if [places[says] for places in known] == found), None)
    cause = cause or other_limit(cases, found)
    numbers = [answer for answer in found if isinstance(answer, int)]
    highest = max(numbers, default=0)
    if not cause and found == [place if place is None else min(place, highest) for *_, place in cases]:
        cause = f"seen: the index is never above {highest}"
    for (_, theirs, _, place), answer in zip(cases, found, strict=True):
        size = np.abs(theirs[0]).max()
        where = f", of states near {size:.2g}," if not 0.1 < size < 10 else ","
        named = f"first_difference{where} where {place} is right,"
        if isinstance(answer, float):
            raise Wrong(f"{named} is {shown(answer)}", "an index is a whole number, or None")
        right = sum(one == case[3] for one, case in zip(found, cases, strict=True))
        compare_place(named, answer, place, cause or f"seen: of {len(cases)} pairs of models {right} are right")


def other_limit(cases, found):
    """Are these the answers for other limits than were asked for?"""
    first = cases[0][2]
    ways = {f"limit is {first:g} in every call: is that of the first call kept, or is it written in?": lambda _: first,
            "limit is taken to be 1 at least": lambda limit: max(limit, 1),
            "limit is taken to be 1 at most": lambda limit: min(limit, 1)}  # fmt: skip
    for says, limit_of in ways.items():
        places = (place_of(ours, theirs, limit_of(limit)) for ours, theirs, limit, _ in cases)
        if all(type(a) is type(b) and a == b for a, b in zip(found, places, strict=True)):
            return says
    return None


def place_of(ours, theirs, limit):
    pairs = enumerate(zip(ours, theirs, strict=True))
    return next((i for i, (a, b) in pairs if not np.abs(np.subtract(a, b)).max() <= limit), None)


def compare_place(named, answer, place, cause):
    """As `equal`, where None is an answer like others."""
    if type(answer) is not type(place) or answer != place:
        raise Wrong(f"{named} is {shown(answer)}; it must be {shown(place)}", cause)


def mistaken_places(ours, theirs, limit):
    """{mistake: what it gives}"""
    signed = [np.subtract(a, b) for a, b in zip(ours, theirs, strict=True)]
    sizes = [np.abs(d) for d in signed]

    def above(numbers):
        return [i for i, number in enumerate(numbers) if number > limit]

    right = above([d.max() for d in sizes])
    with np.errstate(all="ignore"):
        found = {
            "the last index that differs; the first is asked for": right[-1:],
            "the index of the largest difference; the first is asked for":
                [int(np.argmax([d.max() for d in sizes]))] if right else [],
            "one more than the index; it counts from 0": [i + 1 for i in right[:1]],
            "one less than the index; it counts from 0": [i - 1 for i in right[:1]],
            "differences are relative to theirs; the limit is absolute":
                above([d.max() / np.abs(b).max() for d, b in zip(sizes, theirs, strict=True)]),
            "differences are relative, entry by entry; the limit is absolute":
                above([(d / np.abs(b)).max() for d, b in zip(sizes, theirs, strict=True)]),
            "the mean of the differences is compared; it must be the largest": above([d.mean() for d in sizes]),
            "the norm of the differences is compared; it must be the largest entry":
                above([np.sqrt((d * d).sum()) for d in sizes]),
            "1e-5 times theirs is added to the limit, as np.allclose does without rtol=0": [
                i for i, (d, b) in enumerate(zip(sizes, theirs, strict=True)) if (d > limit + 1e-5 * np.abs(b)).any()],
            "the squares of the differences are compared; it must be their absolute values":
                above([(d * d).max() for d in sizes]),
            "differences below zero are not seen: take the absolute value": above([d.max() for d in signed]),
            "differences above zero are not seen: take the absolute value": above([(-d).max() for d in signed]),
            "a difference of just `limit` is none: it must be above":
                [i for i, d in enumerate(sizes) if d.max() >= limit],
            "the smallest of the differences is compared; it must be the largest": above([d.min() for d in sizes]),
            "the largest numbers are compared, not the largest difference":
                above([abs(np.abs(a).max() - np.abs(b).max()) for a, b in zip(ours, theirs, strict=True)]),
            "the first index that does not differ": [i for i in range(len(ours)) if i not in right],
            "the number of pairs that differ": [len(right)],
            "the first pair is not looked at": [i for i in right if i],
            "the last pair is not looked at": [i for i in right if i < len(ours) - 1],
            "the first sequence alone is compared": above([d[:1].max() for d in sizes]),
            "the last sequence alone is compared": above([d[-1:].max() for d in sizes]),
            "the first token of each sequence alone is compared": above([d[:, :1].max() for d in sizes]),
            "the last token of each sequence alone is compared": above([d[:, -1:].max() for d in sizes]),
            "the first number of each token alone is compared": above([d[..., :1].max() for d in sizes]),
            "the last number of each token alone is compared": above([d[..., -1:].max() for d in sizes]),
            "states of zeros are not compared": [i for i in right if np.any(ours[i]) and np.any(theirs[i])],
            "states of one number are not compared": [i for i in right if np.size(ours[i]) > 1],
            "it gives None, whatever there is": [],
            "it gives 0, whatever there is": [0],
        }  # fmt: skip
        found = {says: places[0] if places else None for says, places in found.items()}
    negative = {says.replace("it gives None", "it gives -1"): -1 for says in found if says.startswith("it gives None")}
    no_none = {"where none differs it must give None": right[0] if right else -1,
               "where none differs it must give None, not the number of pairs": right[0] if right else len(ours)}
    return found | negative | no_none


def in_the_order_of(found, right, words, logits):
    """`right`, or `found` where only words of equal probability stand in each other's place: so unlikely ones do, whose
    probability is 0 in float32."""
    p = softmax(logits)
    of_each = dict(zip(words, np.where(p < NEVER, 0, p).tolist(), strict=True))
    different = len(set(map(str, found))) == len(found)
    equal = different and [of_each.get(str(word)) for word in found] == [of_each[word] for word in right]
    return found if equal else right


NEVER = 1e-36                                        # a probability
TWICE = "a word that stands in the list twice is two guesses: as a key of a dict, or by index, it is one"
ONE = "seen: of several guesses the best was right: is something kept from call to call, or a case of its own made?"


def some_words(draw, size):
    """Words of a vocabulary in any order, all different, among them those that an answer may treat in another way."""
    special = ["[UNK]", "\u2581Paris", "Paris", "paris", "", " two words ", "[MASK]", "#1", "\u2581"][: size // 2]
    found = special + [f"word{i}" for i in range(size - len(special))]
    return [found[i] for i in draw.rng.permutation(size)]


def compare_twice(yours, draw):
    """One word stands in the list twice, each time with a logit of its own; then the words have other logits."""
    logits = draw.normal(6)
    order, words = np.argsort(-logits), some_words(draw, 6)
    words[order[2]] = words[order[0]]
    right = [words[i] for i in order[:4]]
    guesses = yours.fill_mask(logits, words, 4)
    found = [plain(guess[0]) for guess in guesses]
    if found != right:
        raise Wrong(f"the guesses are {shown(found)}; they must be {shown(right)}", TWICE)
    p = softmax(logits)
    of_first = {TWICE: p[[words.index(word) for word in right]]}
    same("probabilities, where a word stands twice,", [guess[1] for guess in guesses], p[order[:4]], suspects=of_first)
    turned = -logits
    found = [plain(guess[0]) for guess in yours.fill_mask(turned, words, 4)]
    right = [word for word, _ in guesses_of(turned, words, 4)]
    if found != right:
        raise Wrong(f"of these words, with other logits, the guesses are {shown(found)}; they must be {shown(right)}",
                    "guesses are kept for words, whatever their logits")  # fmt: skip


def guesses_of(logits, words, k):
    """One order alone is right where all logits differ."""
    if len(set(logits.tolist())) < len(logits):
        raise ValueError("words of one logit")
    p = softmax(logits)
    return [(words[i], float(p[i])) for i in np.argsort(-logits)[:k]]


def compare_guesses(yours, draw, logits, k, first=None):
    """Compare, and return what was asked.   first: what was asked in the first call"""
    words = some_words(draw, len(logits))
    guesses = yours.fill_mask(logits, words, k)
    if k == 1 and len(guesses) == 2 and isinstance(plain(guesses[0]), str):           # a tuple of one pair, unpacked
        guesses = [guesses]
    if guesses is None:
        raise Wrong("guesses is None; it must be a list of pairs (word, probability)", NOTHING)
    if not isinstance(guesses, list | tuple) or not all(isinstance(g, list | tuple) and len(g) == 2 for g in guesses):
        raise Wrong(f"guesses is {shown(guesses)}; it must be a list of pairs (word, probability)")
    best = plain(guesses[0]) if guesses else None
    if best is not None and isinstance(plain(best[1]), str) and not isinstance(plain(best[0]), str):
        raise Wrong(f"a guess is {shown(guesses[0])}", "the word comes first, then its probability")
    compare_number(guesses, [words[i] for i in np.argsort(-logits)], k, first)
    if k:
        compare_words([plain(guess[0]) for guess in guesses], words, logits, k, first)
        compare_probabilities([guess[1] for guess in guesses], logits, k, first)
    return logits, words, k


def compare_number(guesses, best_first, k, first):
    fewer = f"seen: there are never more than {len(guesses)}" if len(guesses) > 5 else None
    if 0 < len(guesses) < k - 1 and [plain(guess[0]) for guess in guesses] == best_first[: len(guesses)]:
        fewer = "perhaps: what is not likely is left out; k words are asked for, however unlikely"
    if not k and len(guesses) == len(best_first):
        fewer = "no word is asked for: of nothing, [-k:] takes all, because -0 is 0"
    if first and len(guesses) == first[2]:
        fewer = f"perhaps: k is {first[2]} in every call: is that of the first call kept, or is it written in?"
    if not guesses and k:
        fewer = "seen: there is no guess at all"
    extra = "one guess too many" if len(guesses) == k + 1 else "one guess too few" if len(guesses) == k - 1 else fewer
    equal("the number of guesses", len(guesses), k, extra)


def compare_words(found, words, logits, k, first):
    best_first, given, in_alphabet = [words[i] for i in np.argsort(-logits)], logits.tolist(), sorted(words)
    order = np.argsort(-logits)[:k]
    right = in_the_order_of(found, [words[i] for i in order], words, logits)
    if found == right and all(type(guess) is str for guess in found):
        return
    causes = {
        "best last; the largest logit comes first": right[::-1],
        "the smallest logits are taken; the largest are asked for": [words[i] for i in np.argsort(logits)[:k]],
        "sorted by the size of the logits without their sign": [words[i] for i in np.argsort(-abs(logits))[:k]],
        "the first words of the list, or all logits are made equal": words[:k] if k > 1 else None,
        "the right words, not best first": found if sorted(map(str, found)) == sorted(right) else None,
        "the indices, not the words": [int(i) for i in order],
        "each word is the one after the right one": [words[(i + 1) % len(words)] for i in order],
        "the words are in the opposite order": [words[::-1][i] for i in order],
        "the best guess is left out": [words[i] for i in np.argsort(-logits)[1 : k + 1]],
        "special tokens as [UNK] are left out; they are words like others":
            [word for word in best_first if not word.startswith("[")][:k],
        "[UNK] is left out; it is a word like others": [word for word in best_first if word != "[UNK]"][:k],
        "[MASK] is left out; it is a word like others": [word for word in best_first if word != "[MASK]"][:k],
        "the empty text is left out; it is a word like others": [word for word in best_first if word][:k],
        "capitals are made small; a word is returned as it is": [word.lower() for word in right],
        "words are stripped; a word is returned as it is": [word.strip() for word in right],
        "\u2581 is taken off; a word is returned as it is": [word.lstrip("\u2581") for word in right],
        "\u2581 is made a space; a word is returned as it is": [word.replace("\u2581", " ") for word in right],
        "\u2581 is taken out; a word is returned as it is": [word.replace("\u2581", " ").strip() for word in right],
        "of words with equal logits one comes twice: each is a word of its own":
            [words[given.index(given[i])] for i in order],
        "the words are put in another order than the logits'": [in_alphabet[i] for i in order],
    }  # fmt: skip
    cause = next((says for says, others in causes.items() if found == others), None) if k > 1 else ONE
    if first and len(first[1]) == len(words):        # in the first call
        kept = {"words": [first[1][i] for i in order], "logits": [words[i] for i in np.argsort(-first[0])[:k]],
                "words and logits": [first[1][i] for i in np.argsort(-first[0])[:k]]}  # fmt: skip
        cause = next((f"the {what} of an earlier call are kept" for what, others in kept.items() if found == others),
                     cause)  # fmt: skip
    for rank, (guess, word) in enumerate(zip(found, right, strict=True)):
        equal(f"guess {rank}", guess, word, cause)


def compare_probabilities(found, logits, k, first):
    order, p, found = np.argsort(-logits)[:k], softmax(logits), numbers("probabilities", found, (k,))
    if cause := too_large(found, logits, order):
        raise Wrong("some probabilities are not a number, or infinite", cause)
    with np.errstate(all="ignore"):
        suspects = {
            "the k probabilities sum to one; softmax is over all words": softmax(logits[order]),
            "these are the logits themselves": logits[order],
            "these are log-probabilities": np.log(p[order]),
            "these are e to the logits, not divided by their sum": np.exp(logits[order]),
            "these are e to the logits less the largest, not divided by their sum": p[order] / p.max(),
            "a sigmoid of each logit; softmax is over all words": 1 / (1 + np.exp(-logits[order])),
            "these are percent": 100 * p[order],
            "softmax is taken twice": softmax(p)[order],
            "logits divided by their sum, without exp": logits[order] / logits.sum(),
            "2 to the logits; it must be e": (2.0**logits / (2.0**logits).sum())[order],
            "divided by the number of words, not by the sum": np.exp(logits[order]) / len(logits),
            "logits are cut off at 700; subtract the largest, and none is too large": softmax(
                np.clip(logits, -700, 700))[order],
            "rounded to three digits": np.round(p[order], 3),
            "rounded to two digits": np.round(p[order], 2),
            "the probabilities of the words in the list's order": p[:k],
            "the probabilities are sorted the other way": p[order][::-1],
            "the probabilities are those of other words": p[-order],
            "the logits are doubled before": softmax(2 * logits)[order],
        }
        if first and len(first[0]) == len(logits):
            suspects["the logits or probabilities of an earlier call are kept"] = softmax(first[0])[order]
        suspects = {says: answer for says, answer in suspects.items() if np.isfinite(answer).all()}
    same("probabilities", found, p[order], suspects=suspects)


def too_large(found, logits, order):
    """What was subtracted from the logits in the place of the largest, if e to the others is infinite then."""
    ways = {"nothing is": 0 * logits, "the mean or the least is": logits.mean(), "the least is": logits.min(),
            "the largest size is": np.abs(logits).max(), "the largest is added, not": -logits.max(),
            "the first is": logits[0], "the last is": logits[-1]}  # fmt: skip
    for says, subtracted in ways.items():
        with np.errstate(all="ignore"):
            powers = np.exp(logits - subtracted)
            answer = (powers / powers.sum())[order]
        if not np.isfinite(answer).all() and np.array_equal(found, answer, equal_nan=True):
            return f"{says} subtracted from the logits: e to some is infinite, or all are 0; subtract the largest"
    return None
