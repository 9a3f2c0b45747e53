"""The MLM loss and its gradients, what is done to logits a number at a time; `cpu.cross_entropy` has the formulas.

    forward     logits = products + bias, their largest, and Σ exp(logits - largest)
    backward    p share = exp(logits - lse) share

logits: (words, K)   top, total, lse, shares: (K,)   bias, dbias: (words,)
"""

import numpy as np

from ..cpu.cross_entropy import label_places, vocabulary
from ..cpu.gemm import gemm
from .loops import BLOCK, IN_ANY_ORDER, F, exp, loops


def cross_entropy_forward(x, table, bias, labels, *, lse, losses):
    top, total = np.full_like(lse, -np.inf), np.zeros_like(lse)
    for words in vocabulary(x, table):
        logits = table[words] @ x.T
        words_forward(logits, bias[words], top, total)
        places = label_places(labels, words)
        losses[places[1]] = -logits[places]
    np.log(total, out=lse)
    lse += top
    losses += lse


def cross_entropy_backward(x, table, bias, labels, shares, lse, *, dx, dtable, dbias):
    dx.fill(0)
    for words in vocabulary(x, table):
        dlogits = table[words] @ x.T
        words_backward(dlogits, bias[words], lse, shares, dbias[words])
        word, k = label_places(labels, words)
        dlogits[word, k] -= shares[k]                # p - onehot
        np.subtract.at(dbias, words.start + word, shares[k])
        gemm(dlogits.T, table[words], out=dx, add=True)
        gemm(dlogits, x, out=dtable[words], add=True)


@loops("(f4[:, ::1], f4[::1], f4[::1], f4[::1])")
def words_forward(logits, bias, top, total):
    """top: the largest logit so far; total: Σ exp(logits - top) so far"""
    words, K = logits.shape
    for start in range(0, K, BLOCK):
        end = min(start + BLOCK, K)
        t, s = top[start:end], total[start:end]
        before = t.copy()
        for word in range(words):
            row, b = logits[word, start:end], bias[word]
            for j in range(len(row)):
                row[j] += b
                t[j] = row[j] if row[j] > t[j] else t[j]
        for j in range(len(s)):
            s[j] *= exp(before[j] - t[j])            # what was summed under a lower top
        for word in range(words):
            row = logits[word, start:end]
            for j in range(len(row)):
                s[j] += exp(row[j] - t[j])


@loops("(f4[:, ::1], f4[::1], f4[::1], f4[::1], f4[::1])", fastmath=IN_ANY_ORDER)
def words_backward(logits, bias, lse, shares, dbias):
    """logits become p share, dbias adds Σ_k p share; the labels' own share is still to be taken off"""
    for word in range(len(logits)):
        row, b, total = logits[word], bias[word], F(0)
        for k in range(len(lse)):
            row[k] = exp(row[k] + b - lse[k]) * shares[k]
            total += row[k]
        dbias[word] += total
