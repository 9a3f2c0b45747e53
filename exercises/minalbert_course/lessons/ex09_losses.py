"""Exercise 9: losses, and the word table that is used twice."""

import math

import numpy as np

from minalbert.backend import scatter_add
from minalbert.gradcheck.diagnose import Law
from minalbert.layers import (
    cross_entropy_backward,
    cross_entropy_forward,
    decoder_backward,
    decoder_forward,
    gather_backward,
    gather_forward,
    log_softmax,
    softmax,
)

from ..compare import Wrong, same
from ..lesson import Lesson
from ..outside import numbers as stored
from ..outside import ramp

lesson = Lesson(
    "ex09", "losses and the tied decoder", minutes=70,
    functions={
        "cross_entropy_forward": "loss, cache",
        "cross_entropy_backward": "dlogits, dlabels, dweights",
        "decoder_forward": "logits, cache",
        "decoder_backward": "dx, dtable, dbias",
        "gather_forward": "y, cache",
        "gather_backward": "dx, dpositions",
        "word_gradient": "dword",
    },
    withheld=(cross_entropy_forward, cross_entropy_backward, decoder_forward, decoder_backward, gather_forward,
              gather_backward),
)  # fmt: skip
LESSONS = [lesson]

MEAN = "loss = Σ_i w_i (-log p_i[label_i]) / Σ_i w_i"
DLOGITS = "dlogits_i = dloss (p_i - onehot(label_i)) w_i / Σ w"
SHIFT = Law(
    "the rows of dlogits do not sum to zero, as they must: p and onehot both sum to one. Usually the -1 at the label "
    "is missing",
    lambda dlogits: dlogits.sum(axis=-1),
)


def slots(draw, scale=2.0):
    """logits (B, P, K), labels, weights: some slots are empty, no two weights of others alike, their sum not one."""
    B, P, K = draw.sizes(B=2, P=5, K=7, least=2)
    logits, labels = draw.normal(B, P, K, scale=scale), draw.integers(0, K, B, P)
    weights = draw.uniform(0.5, 3.0, B, P)
    weights[:, -1] = 0.0
    labels[:, -1] = 0
    return logits, labels, weights


def named(weights):
    return {"Σ w": float(weights.sum()), "Σ w divided by the number of slots": float(weights.mean())}


@lesson.check(1, "loss", of="cross_entropy_forward", formula=MEAN)
def loss_value(yours, draw):
    for case in (slots(draw), pairs(draw)):
        logits, labels, weights = case
        loss, _ = yours.cross_entropy_forward(logits, labels, weights)
        expected = cross_entropy_forward(logits, labels, weights)[0]
        each = -np.take_along_axis(log_softmax(logits), labels[..., None], axis=-1)[..., 0]
        suspects = {
            "the mean is over all slots; it must be divided by the sum of the weights": (weights * each).mean(),
            "divided by the number of targets, not by the sum of their weights":
                (weights * each).sum() / np.count_nonzero(weights),
            "the weights are not used: this is the mean over all slots": each.mean(),
            "a sum, which is not divided by Σ w": (weights * each).sum(),
            "the sign is wrong": -expected,
            "divided by Σ w twice": (weights * each).sum() / weights.sum() ** 2,
        }  # fmt: skip
        number(loss, expected, suspects)


def number(loss, expected, suspects=None, name="loss"):
    """A number, or an array of one."""
    if isinstance(loss, np.ndarray) and loss.shape == (1,):
        loss = loss[0]
    suspects = {says: np.atleast_1d(answer) for says, answer in (suspects or {}).items()}
    same(name, loss, expected, suspects=suspects)


def pairs(draw):
    """As SOP has them: logits (B, 2), labels (B,), weights of one."""
    B = 3 + draw.number % 4
    return draw.normal(B, 2), draw.integers(0, 2, B), np.ones(B)


@lesson.check(0.5, "large logits", of="cross_entropy_forward", formula="log p_i = x_i - m - log Σ_j exp(x_j - m)")
def loss_large(yours, draw):
    logits, labels, weights = slots(draw)
    weights = np.ones_like(weights)                  # how they are used is asked elsewhere
    logits = np.round(64 * logits) / 64              # which float32, too, can add 3000 to without loss
    for shift in (3000.0, -3000.0):
        loss, _ = yours.cross_entropy_forward(logits + shift, labels, weights)
        number(loss, cross_entropy_forward(logits, labels, weights)[0])
    logits = 2000.0 * logits                         # a label far from the largest has p = 0, but log p = -4000
    loss, _ = yours.cross_entropy_forward(logits, labels, weights)
    number(loss, cross_entropy_forward(logits, labels, weights)[0])


@lesson.check(0.5, "no target", of="cross_entropy_forward", formula="where all weights are 0: loss 0, gradient 0")
def no_target(yours, draw):
    logits, labels, weights = slots(draw)
    loss, cache = yours.cross_entropy_forward(logits, labels, 0 * weights)
    number(loss, 0.0)
    dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
    same("dlogits", dlogits, np.zeros_like(logits), "bpk")


@lesson.check(1.5, "dlogits", of="cross_entropy_backward", formula=DLOGITS)
def loss_gradient(yours, draw):
    dloss = 0.7 + draw.number / 16
    for case, axes in ((slots(draw), "bpk"), (pairs(draw), "bk")):
        logits, labels, weights = case
        _, cache = yours.cross_entropy_forward(logits, labels, weights)
        dlogits, dlabels, dweights = yours.cross_entropy_backward(dloss, cache)
        expected = cross_entropy_backward(dloss, cross_entropy_forward(logits, labels, weights)[1])[0]
        probs, onehot = softmax(logits), np.eye(logits.shape[-1])[labels]
        suspects = {
            "the weights are forgotten on the way back": dloss * (probs - onehot) / weights.size,
            "the weights are forgotten on the way back, though not their sum": dloss * (probs - onehot) / weights.sum(),
            "the weights of forward are used, but not their sum: each must be divided by Σ w":
                dloss * (probs - onehot) * weights[..., None],
            "divided by the number of slots; it must be the sum of the weights":
                dloss * (probs - onehot) * weights[..., None] / weights.size,
        }  # fmt: skip
        known = {"1/dloss: dloss is not used": 1 / dloss} | named(weights)
        same("dlogits", dlogits, expected, axes, laws=(SHIFT,), known=known, suspects=suspects)
        nothing("dlabels", dlabels)
        nothing("dweights", dweights)


def nothing(name, value):
    if value is not None:
        raise Wrong(f"{name} is not None", "whole numbers and constants have no gradient: None in their place")


def states(draw):
    B, P, E, V = draw.sizes(B=2, P=3, E=4, V=9, least=2)
    return draw.normal(B, P, E), draw.matrix(E, V).T.copy(), draw.normal(V), draw.normal(B, P, V)


@lesson.check(1, "logits", of="decoder_forward", formula="logits = x tableᵀ + bias")
def decoder_value(yours, draw):
    x, table, bias, _ = states(draw)
    logits, _ = yours.decoder_forward(x, table, bias)
    suspects = {"the bias is not added": x @ table.T}
    same("logits", logits, decoder_forward(x, table, bias)[0], "bpv", suspects=suspects)


DECODER = "dx = dlogits table, dtable = dlogitsᵀ x, dbias = Σ dlogits"


@lesson.check(1, "decoder's gradients", of="decoder_backward", formula=DECODER)
def decoder_gradients(yours, draw):
    x, table, bias, dlogits = states(draw)
    _, cache = yours.decoder_forward(x, table, bias)
    answers = yours.decoder_backward(dlogits, cache)
    expected = decoder_backward(dlogits, decoder_forward(x, table, bias)[1])
    for name, answer, right, axes in zip(("dx", "dtable", "dbias"), answers, expected, ("bpe", "ve", "v"), strict=True):
        same(name, answer, right, axes)


def places(draw):
    """x, positions with repeats, dy"""
    B, T, P, H = draw.sizes(B=2, T=6, P=4, H=3, least=2)
    positions = draw.integers(0, T, B, P)
    positions[:, 0] = positions[:, -1] = 0           # as empty slots have
    positions[-1, -1] = T - 1
    return draw.normal(B, T, H), positions, draw.normal(B, P, H)


@lesson.check(0.5, "gather", of="gather_forward", formula="y[b, p] = x[b, positions[b, p]]")
def gather_value(yours, draw):
    x, positions, _ = places(draw)
    y, _ = yours.gather_forward(x, positions)
    suspects = {"all sequences are read at the first one's positions": x[:, positions[0]]}
    same("y", y, gather_forward(x, positions)[0], "bph", suspects=suspects)


@lesson.check(1, "gather's dx", of="gather_backward", formula="dx[b, positions[b, p]] += dy[b, p]")
def gather_gradient(yours, draw):
    x, positions, dy = places(draw)
    _, cache = yours.gather_forward(x, positions)
    dx, dpositions = yours.gather_backward(dy, cache)
    last = np.zeros_like(x)
    last[np.arange(len(x))[:, None], positions] = dy
    suspects = {"where a position comes twice only the last is kept: they must be added (np.add.at)": last}
    same("dx", dx, gather_backward(dy, gather_forward(x, positions)[1])[0], "bth", suspects=suspects)
    nothing("dpositions", dpositions)


@lesson.check(1.5, "the tied table", of="word_gradient", formula="dword[ids[b, t]] += dy[b, t]; dword += dlogitsᵀ x")
def tied(yours, draw):
    x, table, _, dlogits = states(draw)
    V, E = table.shape
    B, T = len(x), x.shape[1] + 3
    ids = draw.integers(0, V - 1, B, T)              # the last word is not looked up
    ids[:, 1] = ids[0, 0]
    dy = draw.normal(B, T, E)
    lookup, decoder = scatter_add((V, E), ids, dy), np.einsum("bpv,bpe->ve", dlogits, x)
    last = np.zeros((V, E))
    last[ids] = dy
    suspects = {
        "only the decoder's part: the words were looked up, too": decoder,
        "only the lookup's part: the decoder uses the table, too": lookup,
        "where a word comes twice only its last gradient is kept: they must be added (np.add.at)": last + decoder,
        "half of the sum: the two parts are added, not averaged": (lookup + decoder) / 2,
    }
    answer = yours.word_gradient(ids, dy, x, dlogits, V)
    same("dword", answer, lookup + decoder, "ve", suspects=suspects)


@lesson.check(0.5, "ln V at first", of="cross_entropy_forward", formula="all words alike: loss = ln V")
def first_loss(yours, draw):
    V = 30000 if draw.first else int(draw.integers(50, 5000))
    labels = draw.integers(0, V, 1, 3)
    loss, _ = yours.cross_entropy_forward(np.full((1, 3, V), 0.3), labels, np.ones((1, 3)))
    number(loss, math.log(V))


@lesson.check(0.5, "as PyTorch", of="cross_entropy_backward", formula="PyTorch's cross_entropy and autograd")
def outside(yours, draw):
    x, table, bias, ids, labels, weights = torch_case()
    found = stored("ex09")
    logits, decoder = yours.decoder_forward(x, table, bias)
    loss, cache = yours.cross_entropy_forward(logits, labels, weights)
    number(loss, found["loss"], name="loss (PyTorch's)")
    dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
    same("dlogits (PyTorch's)", dlogits, found["dlogits"], "bpv")
    dx, _, dbias = yours.decoder_backward(dlogits, decoder)
    same("dx (PyTorch's)", dx, found["dx"], "bpe")
    same("dbias (PyTorch's)", dbias, found["dbias"], "v")
    dword = yours.word_gradient(ids, dx, x, dlogits, len(table))
    same("dword (PyTorch's)", dword, found["dword"], "ve")


def torch_case():
    """The table's rows, looked up, are x at the same time: its gradient has both parts."""
    table, bias, ids = ramp(6, 4, start=1), ramp(6, start=2, scale=0.5), np.array([[1, 4, 1], [0, 2, 4]])
    labels, weights = np.array([[2, 5, 1], [3, 3, 0]]), np.array([[1.0, 0.5, 2.0], [1.0, 2.5, 0.0]])
    return table[ids], table, bias, ids, labels, weights


@lesson.check(0.5, "inputs untouched", of="decoder_forward")
def purity(yours, draw):
    logits, labels, weights = slots(draw)
    _, cache = yours.cross_entropy_forward(logits, labels, weights)
    yours.cross_entropy_backward(np.array(1.0), cache)
    x, table, bias, dlogits = states(draw)
    _, cache = yours.decoder_forward(x, table, bias)
    yours.decoder_backward(dlogits, cache)
    x, positions, dy = places(draw)
    _, cache = yours.gather_forward(x, positions)
    yours.gather_backward(dy, cache)
    yours.word_gradient(np.array([[1, 1, 2]]), draw.normal(1, 3, 4), draw.normal(1, 2, 4), draw.normal(1, 2, 5), 5)
    yours.untouched()
