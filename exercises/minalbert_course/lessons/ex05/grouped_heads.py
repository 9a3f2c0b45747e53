"""Exercise 5's variant from the library's attention: a token of zeros is added, and keys are copied to their heads."""

import numpy as np

from minalbert.layers import attention_backward, attention_forward, softmax


def softmax1(x):
    return softmax(with_zero(x, -1))[..., :-1]


def softmax1_forward(x):
    return softmax1(x), softmax1(x)


def with_zero(x, axis):
    """One place more along an axis, a 0."""
    shape = list(x.shape)
    shape[axis] = 1
    return np.concatenate([x, np.zeros(shape, x.dtype)], axis=axis)


def groups_of(N, G):
    """The group of each head."""
    return np.arange(N) * G // N


def grouped_forward(q, k, v, mask):
    of = groups_of(q.shape[1], k.shape[1])
    pad = with_zero(q, -2)                           # the library's attention has as many queries as keys
    context, cache = attention_forward(pad, with_zero(k[:, of], -2), with_zero(v[:, of], -2), with_zero(mask, -1))
    return context[..., :-1, :], (cache, of, k.shape[1])


def grouped_backward(dcontext, cache):
    cache, of, G = cache
    dq, dk, dv, _ = (x if x is None else x[..., :-1, :] for x in attention_backward(with_zero(dcontext, -2), cache))
    return dq, folded(dk, of, G), folded(dv, of, G), None


def folded(x, of, G):
    """(B, N, T, D) -> (B, G, T, D): heads are added to their groups."""
    return np.stack([x[:, of == group].sum(axis=1) for group in range(G)], axis=1)


def wrong_softmax1(x):
    top = x.max(axis=-1, keepdims=True)
    raised, rest = np.exp(x - np.maximum(top, 0)), np.exp(-np.maximum(top, 0))

    def over(axis):
        return raised.sum(axis=axis, keepdims=True)

    return {
        "the 1 of the divisor is missing: this is the usual softmax": softmax(x),
        "the 1 of the divisor is exp(-m) once m is subtracted from x":
            np.exp(x - top) / (1 + np.exp(x - top).sum(axis=-1, keepdims=True)),
        "the 1 of the divisor is exp(-m) once m = max(0, max x) is subtracted from x": raised / (1 + over(-1)),
        "exp(m) is added to the divisor, where exp(-m) is meant": raised / (1 / rest + over(-1)),
        "m itself is added to the divisor, where exp(-m) is meant": raised / (np.maximum(top, 0) + over(-1)),
        "1 is added to each term of the divisor": raised / (x.shape[-1] * rest + over(-1)),
        "the usual softmax is divided by 2": softmax(x) / 2,
        "the sum is taken over the wrong axis: it must be the last": raised / (rest + over(-2)),
        "the sum is taken over all axes: it must be the last alone": raised / (rest + over(None)),
        "the mean of the row is taken, not its sum": raised / (rest + raised.mean(axis=-1, keepdims=True)),
        "not divided at all": raised,
        "each number's own exp alone is in the divisor, not the row's sum": raised / (rest + raised),
        "this is softmax₁ of -x": softmax1(-x),
        "these are logarithms": np.log(np.maximum(softmax1(x), 1e-300)),
        "a head gives no less than all its weight: the rest is shared by all": softmax1(x) + (
            1 - softmax1(x).sum(axis=-1, keepdims=True)) / x.shape[-1],
    }  # fmt: skip


def other_groups(N, G):
    """Wrong ways to give each head a group: {mistake: the groups}"""
    right = groups_of(N, G)
    ways = {
        "the groups take turns (n % G); a group is a run of heads, n G // N": np.arange(N) % G,
        "the groups are used in reverse order": right[::-1],
        "all heads have the keys and values of the first group": 0 * right,
        "all heads have the keys and values of the last group": 0 * right + G - 1,
        "head n has group n G // N, not n // G": np.minimum(np.arange(N) // G, G - 1),
        "the first G - 1 heads have a group each, and all others the last": np.minimum(np.arange(N), G - 1),
    }
    return {says: of for says, of in ways.items() if (of != right).any()}


def wrong_folds(x, of, G):
    """What mistakes make of a gradient of keys or values, from that of each head: {mistake: array}"""
    N, sizes = len(of), np.bincount(of, minlength=G)[:, None, None]
    right, starts = folded(x, of, G), np.searchsorted(of, range(G))
    return {
        "the mean over the heads of a group is taken; their gradients are added": right / sizes,
        "only the first head of each group is there; all of its heads are added": x[:, starts],
        "only the last head of each group is there; all of its heads are added": x[:, starts + sizes[:, 0, 0] - 1],
        "all heads are added to every group; a group has its own": np.broadcast_to(
            x.sum(axis=1, keepdims=True), right.shape),
        "the heads are added as if groups took turns (n % G); a group is a run of heads": folded(
            x, np.arange(N) % G, G),
        "the groups are in reverse order": right[:, ::-1],
        "the gradient is divided by the number of heads": right / N,
    } if N > G else {}  # fmt: skip
