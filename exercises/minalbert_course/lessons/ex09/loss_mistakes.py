"""What known mistakes make of exercise 9's loss and of its gradient."""

import numpy as np

from minalbert.backend import scatter_add
from minalbert.layers import log_softmax, softmax

USED = {  # what is done with the weights
    "": lambda w, labels: w,
    "the weights count only as 0 or not 0; a target of weight 2 counts twice": lambda w, labels: (w > 0) * 1.0,
    "the weights are not used": lambda w, labels: np.ones_like(w),
    "targets whose label is 0 are left out; 0 is a word like others": lambda w, labels: w * (labels != 0),
    "the weights are squared": lambda w, labels: w * w,
    "the roots of the weights are taken": lambda w, labels: np.sqrt(w),
}


def divisors(used, weights):
    """What the sum is divided by."""
    total = weights.sum()
    return {
        "": used.sum(),
        "divided by the sum of the given weights": total,
        "the mean is over all slots; it must be divided by the sum of the weights": weights.size,
        "divided by the number of targets, not by the sum of their weights": np.count_nonzero(weights),
        "divided by Σ w, or by 1 where that is less": max(total, 1.0),
        "a sum, which is not divided by Σ w": 1.0,
        "divided by Σ w twice": total**2,
        "divided by Σ w cut to a whole number": np.floor(total) or 1.0,
        "divided by the number of sequences": len(weights),
        "divided by the number of slots of one sequence": weights.shape[-1],
        "divided by the root of Σ w": np.sqrt(total),
    }


def ways(labels, weights):
    """(says, each target's share)"""
    for use, made in USED.items():
        used = made(weights, labels)
        for division, by in divisors(used, weights).items():
            if by and (use or division):
                yield "; ".join(part for part in (use, division) if part), used / by
    if weights.ndim > 1:
        yield OF_SEQUENCES, of_sequences(weights)
    yield from floors(weights)


def floors(weights):
    """(says, each target's share) where the divisor has a small number in it."""
    total = weights.sum()
    for small in 10.0 ** -np.arange(1, 17):
        yield f"divided by Σ w + {small:g}: where Σ w is small, too, it must be Σ w alone", weights / (total + small)
        if total < small:
            yield f"divided by no less than {small:g}; where Σ w is less it must be Σ w", weights / small


OF_SEQUENCES = "each sequence has a mean of its own, of which the mean is taken; all targets have one mean"


def of_sequences(weights):
    """Each target's share in the mean of the sequences' means; of those that have a target."""
    totals = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(totals > 0, totals, 1.0) / max(1, np.count_nonzero(totals))


def loss_mistakes(logits, labels, weights):
    def of(log_p, share=weights / weights.sum(), label=labels):
        return -(share * np.take_along_axis(log_p, label[..., None], axis=-1)[..., 0]).sum()

    log_p, K = log_softmax(logits), logits.shape[-1]
    found = {says: of(log_p, share) for says, share in ways(labels, weights)}
    found |= {
        "the sign is wrong": -of(log_p),
        "the logarithm of the sum is to base 2": of(logits - logits.max(-1, keepdims=True) - np.log2(
            np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True))),
        "logarithms are to base 2": of(log_p / np.log(2)),
        "logarithms are to base 10": of(log_p / np.log(10)),
        "the probability, not its logarithm": of(softmax(logits)),
        "one minus the probability, not minus its logarithm": of(softmax(logits) - 1),
        "the logits themselves: log Σ exp is not subtracted": of(logits),
        "the logits less the largest one: log Σ exp is not subtracted": of(logits - logits.max(-1, keepdims=True)),
        "softmax over the slots, not over the words": of(log_softmax(logits.swapaxes(-1, 0)).swapaxes(-1, 0)),
        "the label is one too large": of(log_p, label=(labels + 1) % K),
        "the label is one too small": of(log_p, label=(labels - 1) % K),
        "every label is taken to be 0": of(log_p, label=0 * labels),
        "the most probable word stands for the label": of(log_p, label=logits.argmax(axis=-1)),
        "the entropy of p: labels are not used": -(weights[..., None] * np.exp(log_p) * log_p).sum() / weights.sum(),
        "the sum over all words, not the label's alone": -(weights[..., None] * log_p).sum() / weights.sum(),
        "softmax is taken twice": of(log_softmax(softmax(logits))),
    }  # fmt: skip
    if weights.dtype.kind == "i":
        found[CUT] = 0.0
    return {says: np.atleast_1d(value) for says, value in found.items() if np.isfinite(value)}


CUT = "the shares are whole numbers, as these weights are, and so cut to 0"


NO_SIGN = "where dloss is negative its absolute value is used"


def gradient_mistakes(logits, labels, weights, dloss):
    probs, onehot = softmax(logits), np.eye(logits.shape[-1])[labels]
    share = weights / weights.sum()
    found = {
        "the weights are forgotten on the way back": dloss * (probs - onehot) / weights.size,
        "the weights are forgotten on the way back, though not their sum": dloss * (probs - onehot) / weights.sum(),
        "the weights of forward are used, but not their sum: each must be divided by Σ w":
            dloss * (probs - onehot) * weights[..., None],
        "divided by the number of slots; it must be the sum of the weights":
            dloss * (probs - onehot) * weights[..., None] / weights.size,
        "p is missing: this is minus the onehot alone": -dloss * onehot * share[..., None],
        "onehot is missing: this is p alone": dloss * probs * share[..., None],
        "log p stands where p must": dloss * (log_softmax(logits) - onehot) * share[..., None],
        "p + onehot; it must be p - onehot": dloss * (probs + onehot) * share[..., None],
        "onehot - p; it must be p - onehot": dloss * (onehot - probs) * share[..., None],
        "the logits stand where p must": dloss * (logits - onehot) * share[..., None],
        "through softmax's own derivative, too: it is in p - onehot already":
            dloss * probs * ((probs - onehot) - (probs * (probs - onehot)).sum(-1, keepdims=True)) * share[..., None],
    }  # fmt: skip
    if weights.dtype.kind == "i":
        found[CUT] = 0 * probs
    if dloss < 0:                                    # otherwise a wrong sign was seen before
        found = {NO_SIGN: dloss * (onehot - probs) * share[..., None]} | found
    steps = {says: dloss * (probs - onehot) * used[..., None] for says, used in ways(labels, weights)}
    return found | steps


SMALL = np.concatenate([10.0 ** -np.arange(5, 324), [np.finfo(t).tiny for t in "fd"], [np.finfo(t).eps for t in "fd"]])


def nearest(loss, each):
    """The loss, if it is that of targets whose -log p is no more than -log of a small number; else nan."""
    with np.errstate(all="ignore"):
        floors = [np.minimum(each, limit).mean() for limit in -np.log(SMALL)]
    found = np.size(loss) == 1 and any(abs(float(np.asarray(loss).item()) - x) < 1e-3 * x for x in floors)
    return np.asarray(loss, float).reshape(1) if found else np.array([np.nan])


ALONG = "where {} = V, the bias is added along the wrong axis; it has a number for each word, so it goes along the last"


def logits_mistakes(x, table, bias):
    right = x @ table.T
    return {
        "the bias is not added": right,
        "the bias is subtracted": right - bias,
        "this is the bias alone": 0 * right + bias,
        "the bias is added twice": right + 2 * bias,
    } | {says.format(letter): right + bias.reshape(shape) for letter, says, size, shape in (
        ("P", ALONG, x.shape[1], (-1, 1)), ("B", ALONG, len(x), (-1, 1, 1))) if size == len(bias)}  # fmt: skip


def decoder_mistakes(x, table, dlogits):
    V, rows = len(table), x.reshape(-1, x.shape[-1])
    return {
        "dx": {"only one sequence's or place's part": dlogits[:1, :1] @ table},
        "dtable": {"only the first sequence's part": dlogits[0].T @ x[0],
                   "only the last sequence's part": dlogits[-1].T @ x[-1],
                   "only the first place's part": dlogits[:, 0].T @ x[:, 0],
                   "dlogits is reshaped to (V, slots); its rows must be transposed": dlogits.reshape(V, -1) @ rows,
                   "the slots of dlogits are in another order than those of x": dlogits.T.reshape(V, -1) @ rows,
                   "dlogits of each slot is multiplied by all x of the batch; it must be by x of the same slot":
                       np.outer(dlogits.sum(axis=(0, 1)), rows.sum(axis=0)),
                   "dlogits of each slot is multiplied by all x of its sequence; it must be by x of the same slot":
                       np.einsum("bpv,bqe->ve", dlogits, x)},
        "dbias": {"the mean over B and P; it must be the sum": dlogits.mean(axis=(0, 1)),
                  "only the first sequence's part": dlogits[0].sum(axis=0),
                  "only the first place's part": dlogits[:, 0].sum(axis=0),
                  "summed over the places, and not over the sequences (or only one of them)": dlogits[-1].sum(axis=0)},
    }  # fmt: skip


OWN = "where B = P, slot p belongs to sequence p: the numbers of the sequences must go along the first axis"


def gather_mistakes(x, positions):
    return {
        "all sequences are read at the first one's positions": x[:, positions[0]],
        "all are read from the first sequence": x[0][positions],
        "the places after the right ones are read": x[np.arange(len(x))[:, None], (positions + 1) % x.shape[1]],
        "slots at position 0 are left out; 0 is a position like others": 
            x[np.arange(len(x))[:, None], positions] * (positions > 0)[..., None],
    } | ({OWN: x[np.arange(len(x)), positions]} if 1 < len(x) == positions.shape[1] else {})  # fmt: skip


def scatter_mistakes(x, positions, dy):
    rows = np.arange(len(x))[:, None]
    last, first = np.zeros_like(x), np.zeros_like(x)
    last[rows, positions] = dy
    first[rows, positions[:, ::-1]] = dy[:, ::-1]
    T = x.shape[1]
    short = {"the slots after the first T are left out: there may be more slots than places":
             np.stack([scatter_add(x[0].shape, at[:T], one[:T]) for at, one in zip(positions, dy, strict=True)])}
    return {
        "where a position comes twice only the last is kept: they must be added (np.add.at)": last,
        "where a position comes twice only the first is kept: they must be added (np.add.at)": first,
        "slots at position 0 are left out; 0 is a position like others":
            np.stack([scatter_add(x[0].shape, at, one * (at > 0)[:, None])
                      for at, one in zip(positions, dy, strict=True)]),
    } | (short if 1 < T < positions.shape[1] else {}) | (
        {OWN: own_slots(x, positions, dy)} if 1 < len(x) == positions.shape[1] else {})  # fmt: skip


def own_slots(x, positions, dy):
    dx = np.zeros_like(x)
    np.add.at(dx, (np.arange(len(x)), positions), dy)
    return dx


def tied_mistakes(ids, dy, x, dlogits):
    V, E = dlogits.shape[-1], dy.shape[-1]
    lookup, decoder = scatter_add((V, E), ids, dy), np.einsum("bpv,bpe->ve", dlogits, x)
    last = np.zeros((V, E))
    last[ids] = dy
    return {
        "only the decoder's part: the words were looked up, too": decoder,
        "only the lookup's part: the decoder uses the table, too": lookup,
        "where a word comes twice only its last gradient is kept: they must be added (np.add.at)": last + decoder,
        "half of the sum: the two parts are added, not averaged": (lookup + decoder) / 2,
        "the two parts are subtracted; they must be added": lookup - decoder,
        "the two parts are subtracted; they must be added, both as they are": decoder - lookup,
        "the decoder's part is there twice": lookup + 2 * decoder,
        "the lookup's part is there twice": 2 * lookup + decoder,
        "word 0 is left out where it is looked up": scatter_add((V, E), ids, dy * (ids > 0)[..., None]) + decoder,
    }
