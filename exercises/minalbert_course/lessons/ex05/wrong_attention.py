"""What mistakes make of exercise 5's softmax, attention and their gradients."""

import math

import numpy as np

from minalbert.layers import softmax


def wrong_softmax(x):
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return {
        "softmax over the wrong axis: it must be the last": softmax(x.swapaxes(-1, -2)).swapaxes(-1, -2),
        "the sum is taken over the wrong axis: it must be the last": raised / raised.sum(axis=-2, keepdims=True),
        "the sum is taken over the first axis: it must be the last": raised / raised.sum(axis=0, keepdims=True),
        "the sum is taken over all axes: it must be the last alone": raised / raised.sum(),
        "softmax over all axes: it must be the last alone": np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
        "not divided by the sum": raised,
        "divided by the mean, not by the sum": raised / raised.mean(axis=-1, keepdims=True),
        "divided by the largest, not by the sum": raised / raised.max(axis=-1, keepdims=True),
        "these are logarithms of the probabilities": np.log(softmax(x)),
        "this is the softmax of -x": softmax(-x),
        "2^x is taken, where exp(x) is meant": softmax(x * math.log(2)),
        "x itself is divided by its sum: exp is missing": x / x.sum(axis=-1, keepdims=True),
        "the sum leaves out the first entry": raised / np.maximum(raised[..., 1:].sum(axis=-1, keepdims=True), 1e-300),
        "the sum leaves out the last entry": raised / np.maximum(raised[..., :-1].sum(axis=-1, keepdims=True), 1e-300),
    }


def hole(cases, x, whole):
    """The mistake that leaves the same holes, in the same case first."""
    ways = {
        "exp of numbers as they are: subtract each row's largest first": lambda x: x,
        "the largest of all rows is subtracted from each; each row has a largest of its own": lambda x: x - x.max(),
        "the largest of each column is subtracted, not of each row": lambda x: x - x.max(axis=0),
        "what is subtracted is not the row's largest": lambda x: x - x.min(axis=-1, keepdims=True),
    }
    with np.errstate(all="ignore"):
        for says, shift in ways.items():
            raised = (np.exp(shift(case)) for case in cases)
            answers = (case / case.sum(axis=-1, keepdims=True) for case in raised)
            finite = [np.isfinite(answer) for answer in answers]
            first = next((i for i, part in enumerate(finite) if not part.all()), None)
            if first is not None and cases[first] is x and (finite[first] == whole).all():
                return says
    return None


def softmax_way_back(dy, y):
    return y * (dy - (dy * y).sum(axis=-1, keepdims=True))


def wrong_ways_back(dy, y):
    def inner(values, axis=-1):
        return values.sum(axis=axis, keepdims=True)

    return {
        "the term - y Σ_j dy_j y_j is missing": y * dy,
        "the term - y Σ_j dy_j y_j has the wrong sign": y * (dy + inner(dy * y)),
        "the sum of the term - y Σ_j dy_j y_j is taken over the first axis": y * (dy - inner(dy * y, 0)),
        "the sum of the term - y Σ_j dy_j y_j is taken over the last axis but one": y * (dy - inner(dy * y, -2)),
        "the sum of the term - y Σ_j dy_j y_j is taken over all axes": y * (dy - (dy * y).sum()),
        "a mean, where the sum Σ_j dy_j y_j is meant": y * (dy - (dy * y).mean(axis=-1, keepdims=True)),
        "Σ_j dy_j, where Σ_j dy_j y_j is meant": y * (dy - inner(dy)),
        "Σ_j y_j, where Σ_j dy_j y_j is meant": y * (dy - 1),
        "the sum is missing: dy_j y_j is subtracted, where Σ_j dy_j y_j is meant": y * (1 - y) * dy,
        "the factor y before the bracket is missing": dy - inner(dy * y),
        "the sum is not multiplied by y: dx = y (dy - Σ_j dy_j y_j)": y * dy - inner(dy * y),
        "y² is used where y is meant": y * y * (dy - inner(dy * y)),
        "dy comes in twice": dy * y * (dy - inner(dy * y)),
        "this is dy itself": dy,
    }


def probabilities(q, k, mask, softmax=softmax):
    return softmax(q @ transposed(k) / math.sqrt(q.shape[-1]) + mask)


def transposed(x):
    return x.swapaxes(-1, -2)


def wrong_probabilities(q, k, mask, softmax=softmax, slips=wrong_softmax):
    """Forward, before the values come in. `slips` gives the mistakes in softmax."""
    _, N, T, D = q.shape
    scores, root = q @ transposed(k), math.sqrt(D)
    return {
        "the scores are not divided by √D": softmax(scores + mask),
        "the scores are divided by D, not by √D": softmax(scores / D + mask),
        "the scores are divided by 8, which is √D for D = 64 alone": softmax(scores / 8 + mask),
        "the scores are multiplied by √D, not divided": softmax(scores * root + mask),
        "the scores are divided by the whole part of √D": softmax(scores / math.isqrt(D) + mask),
        "the scores are divided by √T, not by √D": softmax(scores / math.sqrt(T) + mask),
        "the scores are divided by √N, not by √D": softmax(scores / math.sqrt(N) + mask),
        "the scores are divided by √(N D), not by √D": softmax(scores / math.sqrt(N * D) + mask),
        "the mask is divided by √D, too: it is added after": softmax((scores + mask) / root),
        "the mask is not added to the scores": softmax(scores / root),
        "the mask is subtracted from the scores": softmax(scores / root - mask),
        "the mask is multiplied with the scores": softmax(scores / root * mask),
        "all sequences get the mask of the first": softmax(scores / root + mask[:1]),
        "the mask hides queries, where it must hide keys": softmax(scores / root + transposed(mask)),
        "the mask comes after softmax, so that rows no longer sum to one": softmax(scores / root) * (mask == 0),
        "the scores have the wrong sign": softmax(mask - scores / root),
        "the scores are transposed: rows are queries": softmax(transposed(scores) / root + mask),
        "softmax is taken over the queries, not over the keys (the last axis)":
            transposed(softmax(transposed(scores / root + mask))),
        "the probabilities are used transposed": transposed(softmax(scores / root + mask)),
        "softmax is left out": scores / root + mask,
        "q is used where k is meant": softmax(q @ transposed(q) / root + mask),
        "k is used where q is meant": softmax(k @ transposed(k) / root + mask),
    } | {says: P for says, P in slips(scores / root + mask).items()}  # fmt: skip


def wrong_contexts(q, k, v, mask, softmax=softmax, slips=wrong_softmax):
    P = probabilities(q, k, mask, softmax)
    return {says: wrong @ v for says, wrong in wrong_probabilities(q, k, mask, softmax, slips).items()} | {
        "k is used where v is meant": P @ k,
        "q is used where v is meant": P @ q,
        "all heads have the values of the first": P @ v[:, :1],
        "all sequences have the values of the first": P @ v[:1],
    }


def wrong_score_gradients(q, k, v, mask, dcontext, softmax=softmax, ways_back=wrong_ways_back):
    """What mistakes make of dS, the gradient of the scores: {mistake: dS / √D}"""
    P, dP = probabilities(q, k, mask, softmax), dcontext @ transposed(v)
    ways = {f"in softmax's backward pass, {says}": dS for says, dS in ways_back(dP, P).items()}
    ways |= {
        "softmax's backward pass is left out: dS is taken to be dP": dP,
        "dP is transposed: dP = dcontext vᵀ": softmax_way_back(transposed(dP), P),
        "dP is made with k, where v is meant": softmax_way_back(dcontext @ transposed(k), P),
        "dP is made with q, where v is meant": softmax_way_back(dcontext @ transposed(q), P),
    }
    return {says: dS / math.sqrt(q.shape[-1]) for says, dS in ways.items()}


def scores_followed(q, k, v, mask, dcontext, softmax=softmax, slips=wrong_softmax):
    """dS / √D where all is right but the probabilities of forward: {mistake: array}"""
    dP, root = dcontext @ transposed(v), math.sqrt(q.shape[-1])
    return {says: softmax_way_back(dP, P) / root
            for says, P in wrong_probabilities(q, k, mask, softmax, slips).items()}  # fmt: skip
