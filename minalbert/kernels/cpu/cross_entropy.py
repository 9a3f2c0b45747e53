"""The MLM loss and its gradients, without ever holding all logits; see `layers.decoder` and `layers.losses`.

    forward     logits = x tableᵀ + bias        lse = log Σ_words exp(logits)        losses = lse - logits[label]
    backward    dlogits = (exp(logits - lse) - onehot(label)) share
                dx = dlogits table              dtable adds dlogitsᵀ x               dbias adds Σ_k dlogits

x, dx: (K, E)   table, dtable: (V, E)   bias, dbias: (V,)   labels, lse, losses, shares: (K,)

Some words are taken at a time. Forward keeps the largest logit and the sum so far; backward computes the logits again:
K·E·V more multiplications, K·V fewer numbers.
"""

import numpy as np

from .gemm import gemm
from .tiles import TILE_BYTES


def cross_entropy_forward(x, table, bias, labels, *, lse, losses):
    top, total = np.full_like(lse, -np.inf), np.zeros_like(lse)
    for words in vocabulary(x, table):
        logits = _logits(x, table[words], bias[words])
        places = label_places(labels, words)
        losses[places[1]] = -logits[places]
        higher = np.maximum(top, logits.max(axis=0))
        logits -= higher
        np.exp(logits, out=logits)
        total *= np.exp(top - higher)                # what was summed under a lower top
        total += np.ones(len(logits), x.dtype) @ logits
        top = higher
    np.log(total, out=lse)
    lse += top
    losses += lse


def cross_entropy_backward(x, table, bias, labels, shares, lse, *, dx, dtable, dbias):
    dx.fill(0)
    for words in vocabulary(x, table):
        dlogits = _logits(x, table[words], bias[words])
        dlogits -= lse
        np.exp(dlogits, out=dlogits)                 # p
        dlogits[label_places(labels, words)] -= 1.0  # p - onehot
        dlogits *= shares
        gemm(dlogits.T, table[words], out=dx, add=True)
        gemm(dlogits, x, out=dtable[words], add=True)
        dbias[words] += dlogits @ np.ones(len(x), x.dtype)


def vocabulary(x, table):
    """Slices of words whose logits for all of x fit the cache."""
    step = max(1, 4 * TILE_BYTES // (max(1, len(x)) * x.itemsize))
    return [slice(v, min(v + step, len(table))) for v in range(0, len(table), step)]


def _logits(x, table, bias):
    """(words, K): a row for each word, so that softmax over words runs along the memory."""
    logits = table @ x.T
    logits += bias[:, None]
    return logits


def label_places(labels, words):
    """Find the labels that lie among these words: their indices in (words, K)."""
    (k,) = np.nonzero((words.start <= labels) & (labels < words.stop))
    return labels[k] - words.start, k
