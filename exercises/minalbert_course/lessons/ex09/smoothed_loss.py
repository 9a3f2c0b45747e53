"""Cross-entropy with smoothed labels, from two losses without: that of the labels, and the mean over all words.

With the share s the labels' loss counts 1 - s, the mean over all words as if each were the label counts s.
"""

import numpy as np

from minalbert.layers import cross_entropy_backward, cross_entropy_forward, log_softmax, softmax

from .loss_mistakes import NO_SIGN, OF_SEQUENCES, SMALL, floors, of_sequences


def smoothed_loss_forward(logits, labels, weights, smoothing):
    loss, cache = cross_entropy_forward(logits, labels, weights)
    spread = -(shares(weights) * log_softmax(logits).mean(axis=-1)).sum()
    return (1 - smoothing) * loss + smoothing * spread, (cache, logits, weights, smoothing)


def smoothed_loss_backward(dloss, cache):
    cache, logits, weights, smoothing = cache
    of_labels = cross_entropy_backward(dloss, cache)[0]
    of_all = dloss * shares(weights)[..., None] * (softmax(logits) - 1 / logits.shape[-1])
    return (1 - smoothing) * of_labels + smoothing * of_all, None, None


def shares(weights):
    total = weights.sum()
    return weights / total if total else 0.0 * weights


def targets(labels, K, label, others):
    """(..., K): `label` at the label, `others` elsewhere"""
    return np.where(np.arange(K) == labels[..., None], label, others)


def from_labels(labels, K, s):
    """{a mistake that shows only where the last words are no labels: the targets that it gives}"""
    largest = int(labels.max(initial=0)) + 1
    made = targets(labels, K, 1 - s + s / largest, s / largest)
    return {"K is the largest label + 1; it is the number of words": made} if largest < K else {}


def wrong_targets(labels, K, s):
    """{mistake: the targets that it gives}"""
    return {
        "the labels are not smoothed": targets(labels, K, 1.0, 0.0),
        "s is shared by the other K - 1 words; all K share it, the label, too": targets(labels, K, 1 - s, s / (K - 1)),
        "the label has 1 - s, without its s / K": targets(labels, K, 1 - s, s / K),
        "the label has 1 + s / K, the s is not taken from it": targets(labels, K, 1 + s / K, s / K),
        "the label keeps 1, and all others have s / K": targets(labels, K, 1.0, s / K),
        "every word has s; it must be s / K": targets(labels, K, 1.0, s),
        "s and 1 - s have changed places": targets(labels, K, s + (1 - s) / K, (1 - s) / K),
        "the labels do not count: every word has 1 / K": targets(labels, K, 1 / K, 1 / K),
        "the label has 1 - s, the other words nothing": targets(labels, K, 1 - s, 0.0),
        "only the smoothed part, s / K for every word": targets(labels, K, s / K, s / K),
    }


def smoothing_mistakes(logits, labels, weights, s):
    log_p, K = log_softmax(logits), logits.shape[-1]
    share = shares(weights)
    right = targets(labels, K, 1 - s + s / K, s / K)

    def of(q, log_p=log_p, share=share):
        return np.atleast_1d(-(share * (q * log_p).sum(axis=-1)).sum())

    found = {says: of(q) for says, q in wrong_targets(labels, K, s).items()} if K > 1 else {}
    if weights.ndim > 1:
        found[OF_SEQUENCES] = of(right, share=of_sequences(weights))
    first = {says: of(q) for says, q in from_labels(labels, K, s).items()}
    return first | found | {
        "the sign is wrong": -of(right),
        "the targets' entropy is taken off: this is the KL divergence":
            of(right) - of(right, log_p=np.log(np.where(right > 0, right, 1.0))),
        "divided by Σ w, or by 1 where that is less": of(right, share=weights / max(weights.sum(), 1.0)),
        "a sum, which is not divided by Σ w": of(right, share=weights),
        "the mean is over all slots; it must be divided by the sum of the weights":
            of(right, share=weights / weights.size),
        "divided by the number of targets, not by the sum of their weights":
            of(right, share=weights / np.count_nonzero(weights)),
        **{says: of(right, share=share) for says, share in floors(weights)},
        "the weights are not used": of(right, share=np.full(weights.shape, 1 / weights.size)),
        "divided by K as well": of(right) / K,
        "the logits themselves: log Σ exp is not subtracted": of(right, log_p=logits),
    }  # fmt: skip


def gradient_mistakes(logits, labels, weights, s, dloss):
    p, K = softmax(logits), logits.shape[-1]
    share, right = shares(weights)[..., None], targets(labels, K, 1 - s + s / K, s / K)
    found = {says: dloss * share * (p - q) for says, q in wrong_targets(labels, K, s).items()} if K > 1 else {}
    if weights.ndim > 1:
        found[OF_SEQUENCES] = dloss * of_sequences(weights)[..., None] * (p - right)
    first = {says: dloss * share * (p - q) for says, q in from_labels(labels, K, s).items()}
    first |= {NO_SIGN: dloss * share * (right - p)} if dloss < 0 else {}     # otherwise a wrong sign was seen before
    return first | found | {
        "q is missing: this is p alone": dloss * share * p,
        "p is missing: this is minus the targets alone": -dloss * share * right,
        "q - p; it must be p - q": dloss * share * (right - p),
        "p has the factor 1 - s, as the onehot has; p as a whole must be there": dloss * share * ((1 - s) * p - right),
        "the weights are forgotten on the way back": dloss * (p - right) / weights.size,
        "the weights of forward are used, but not their sum: each must be divided by Σ w":
            dloss * weights[..., None] * (p - right),
        "dloss is not used": share * (p - right),
    }  # fmt: skip


def far_mistakes(logits, labels, weights, s, dloss):
    """gradient_mistakes, and what is left out where p is 0"""
    p, K = softmax(logits), logits.shape[-1]
    share = dloss * shares(weights)[..., None]
    q, bare = targets(labels, K, 1 - s + s / K, s / K), targets(labels, K, 1 - s, 0.0)
    return {
        "where p is 0, the s / K of q is missing": share * (p - np.where(p > 0, q, bare)),
        "where p is 0, the gradient is 0; it must be -q there": share * np.where(p > 0, p - q, 0.0),
    } | gradient_mistakes(logits, labels, weights, s, dloss)


FLOORS = np.array([50.0, 80.0, 88.0, 100.0, 500.0, 700.0, 708.0, 709.0, 745.0, 1000.0, *-np.log(SMALL)])


def large_mistakes(logits, labels, weights, s, loss):
    """smoothing_mistakes, and what a smallest log p makes of large logits. loss: yours, as near to which it is said"""
    log_p, K = log_softmax(logits), logits.shape[-1]
    right = targets(labels, K, 1 - s + s / K, s / K)
    floored = [-(shares(weights) * (right * np.maximum(log_p, -floor)).sum(axis=-1)).sum() for floor in FLOORS]
    nearest = min(floored, key=lambda found: abs(found - np.sum(loss)))
    says = "log p is cut off, or is that of a small number, where p is 0; log p must be x - m - log Σ exp"
    return {says: nearest} | smoothing_mistakes(logits, labels, weights, s)
