"""States and guesses of two models, for exercise 13, and what known mistakes make of them."""

import numpy as np

from minalbert.layers import softmax

from ..compare import Wrong, equal, numbers, same, shown


def states(draw, size=1.0, layers=5):
    """As many states as a small model has, theirs, and ours, which differ by less than 1e-3."""
    B, T, H = draw.sizes(B=2, T=3, H=4, least=2)
    theirs = [size * draw.normal(B, T, H) for _ in range(layers)]
    return [state + draw.uniform(-9e-4, 9e-4, *state.shape) for state in theirs], theirs


def plain(value):
    """A number or a word of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


def compare_place(yours, ours, theirs, limit, place, size=1.0):
    found = plain(yours.first_difference(ours, theirs, limit))
    sizes = [np.abs(np.subtract(a, b)).ravel() for a, b in zip(ours, theirs, strict=True)]
    signed = [np.subtract(a, b).ravel() for a, b in zip(ours, theirs, strict=True)]
    relative = [d / np.abs(b).ravel().max() for d, b in zip(sizes, theirs, strict=True)]
    each = [d / np.maximum(np.abs(b).ravel(), 1e-12) for d, b in zip(sizes, theirs, strict=True)]
    above = [i for i, d in enumerate(sizes) if d.max() > limit]
    guesses = {
        "the last index that differs; the first is asked for": above[-1:],
        "the index of the largest difference; the first is asked for":
            [int(np.argmax([d.max() for d in sizes]))] if above else [],
        "one more than the index; it counts from 0": [i + 1 for i in above[:1]],
        "differences are relative to theirs; the limit is absolute":
            [i for i, d in enumerate(relative) if d.max() > limit],
        "differences are relative, entry by entry; the limit is absolute":
            [i for i, d in enumerate(each) if d.max() > limit],
        "the mean of the differences is compared; it must be the largest":
            [i for i, d in enumerate(sizes) if d.mean() > limit],
        "the norm of the differences is compared; it must be the largest entry":
            [i for i, d in enumerate(sizes) if np.sqrt((d * d).sum()) > limit],
        "differences below zero are not seen: take the absolute value":
            [i for i, d in enumerate(signed) if d.max() > limit],
        "a difference of just `limit` is none: it must be above": [i for i, d in enumerate(sizes) if d.max() >= limit],
        "the smallest of the differences is compared; it must be the largest":
            [i for i, d in enumerate(sizes) if d.min() > limit],
        "the first index that does not differ": [i for i in range(len(ours)) if i not in above],
        "the number of pairs that differ": [len(above)],
        "the first pair is not looked at": [i for i in above if i],
    }  # fmt: skip
    causes = [says for says, places in guesses.items() if (places[0] if places else None) == found]
    where = f", of states near {size:g}," if size != 1 else ","
    equal(f"first_difference{where} where {place} is right,", found, place, possibly(causes))


def possibly(causes):
    """One number does not tell mistakes apart."""
    return f"perhaps: {causes[0]}" if causes else None


def compare_guesses(yours, logits, k):
    words = [f"word{i}" for i in range(len(logits))]
    guesses = yours.fill_mask(logits, words, k)
    if k == 1 and len(guesses) == 2 and isinstance(plain(guesses[0]), str):           # a tuple of one pair, unpacked
        guesses = [guesses]
    if not isinstance(guesses, list | tuple) or not all(isinstance(g, list | tuple) and len(g) == 2 for g in guesses):
        raise Wrong(f"guesses is {shown(guesses)}; it must be a list of pairs (word, probability)")
    order, p = np.argsort(-logits)[:k], softmax(logits)
    extra = "one guess too many" if len(guesses) == k + 1 else "one guess too few" if len(guesses) == k - 1 else None
    equal("the number of guesses", len(guesses), k, extra)
    found, right = [plain(guess[0]) for guess in guesses], [words[i] for i in order]
    causes = {
        "best last; the largest logit comes first": right[::-1],
        "the smallest logits are taken; the largest are asked for": [words[i] for i in np.argsort(logits)[:k]],
        "sorted by the size of the logits without their sign": [words[i] for i in np.argsort(-abs(logits))[:k]],
        "the first words of the list": words[:k],
        "the right words, not best first": found if sorted(map(str, found)) == sorted(right) else None,
        "the indices, not the words": [int(i) for i in order],
        "each word is the one after the right one": [words[(i + 1) % len(words)] for i in order],
        "the best guess is left out": [words[i] for i in np.argsort(-logits)[1 : k + 1]],
    }
    cause = next((says for says, others in causes.items() if found == others), None)
    for rank, (guess, word) in enumerate(zip(found, right, strict=True)):
        equal(f"guess {rank}", guess, word, cause)
    found = numbers("probabilities", [guess[1] for guess in guesses], (k,))
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
            "rounded to three digits": np.round(p[order], 3),
            "rounded to two digits": np.round(p[order], 2),
            "the probabilities of the words in the list's order": p[:k],
            "the probabilities are sorted the other way": p[order][::-1],
        }
        suspects = {says: answer for says, answer in suspects.items() if np.isfinite(answer).all()}
    same("probabilities", found, p[order], suspects=suspects)
