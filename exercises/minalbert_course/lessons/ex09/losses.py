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
)

from ...alike import alike
from ...compare import Wrong, same
from ...compare import numbers as array_of
from ...lesson import Lesson
from ...narrow import ROWS
from ...outside import numbers as stored
from ..checks import Later, alive
from ..corners import guessing
from ..many_rows import RUNNING_SUM, beyond_16_bits, last_rows
from .loss_draws import (
    STEPS,
    every_place,
    every_state,
    far_places,
    kinds,
    many_words,
    pairs,
    places,
    slots,
    states,
    torch_case,
)
from .loss_mistakes import (
    decoder_mistakes,
    gather_mistakes,
    gradient_mistakes,
    logits_mistakes,
    loss_mistakes,
    nearest,
    scatter_mistakes,
    tied_mistakes,
)


def word_gradient(ids, dy, x, dlogits, vocab_size):
    looked_up, compared = scatter_add((vocab_size, dy.shape[-1]), ids, dy), np.einsum("bpv,bpe->ve", dlogits, x)
    return np.sum([looked_up, compared], axis=0)     # of two shapes an error, where + would repeat a row


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
    references={"word_gradient": word_gradient},
)  # fmt: skip

CLIPPED = "all logits count as equal: are they cut off where they are large?"
MEAN = "loss = Σ_i w_i (-log p_i[label_i]) / Σ_i w_i"
DLOGITS = "dlogits_i = dloss (p_i - onehot(label_i)) w_i / Σ w"
SHIFT = Law(
    "the rows of dlogits do not sum to zero, as they must: p and onehot both sum to one",
    lambda dlogits: dlogits.sum(axis=-1),
)


@lesson.check(1, "loss", of="cross_entropy_forward", formula=MEAN)
def loss_value(yours, draw):
    for logits, labels, weights in kinds(draw):
        loss, _ = yours.cross_entropy_forward(logits, labels, weights)
        expected = cross_entropy_forward(logits, labels, weights)[0]
        number(loss, expected, Later(loss_mistakes, logits, labels, weights) if labels.ndim else None)
    if yours.has_narrow_integers:
        given = many_words(draw)
        beyond_16_bits("loss", lambda: yours.cross_entropy_forward(*given)[0], cross_entropy_forward(*given)[0])


def number(loss, expected, suspects=None, name="loss"):
    """A number, or an array of one."""
    if isinstance(loss, np.ndarray) and loss.shape == (1,):
        loss = loss[0]
    same(name, loss, expected, suspects=suspects)


@lesson.check(0.5, "large logits", of="cross_entropy_forward", formula="log p_i = x_i - m - log Σ_j exp(x_j - m)")
def loss_large(yours, draw):
    logits, labels, weights = slots(draw)
    weights = np.ones_like(weights)  # how they are used is asked elsewhere
    logits = np.round(64 * logits) / 64  # which float32, too, can add 3000 to without loss
    own, _, _ = yours.forward_and_back("cross_entropy", 1.0, logits, labels, weights)
    usual = alike(cross_entropy_backward(1.0, cross_entropy_forward(logits, labels, weights)[1])[0], own)
    for shift in (3000.0, -3000.0):
        loss, cache = yours.cross_entropy_forward(logits + shift, labels, weights)
        clipped = {CLIPPED: cross_entropy_forward(0 * logits, labels, weights)[0]}
        number(loss, cross_entropy_forward(logits, labels, weights)[0], clipped)
        dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
        if np.shape(own) == logits.shape:  # if it is right is asked elsewhere
            same(f"dlogits of logits near {shift:g}", dlogits, own, "bpk")
    compare_rising(yours.cross_entropy_forward, cross_entropy_forward, draw)
    floor = "where p is 0, its logarithm is taken all the same, of some small number; log p must be x - m - log Σ exp"
    for near, right, shares in ((logits, labels, weights), pairs(draw)):
        far = 2000.0 * near  # a label far from the largest has p = 0, but log p = -4000
        loss, cache = yours.cross_entropy_forward(far, right, shares)
        each = -np.take_along_axis(log_softmax(far), right[..., None], axis=-1)[..., 0]
        expected, its_cache = cross_entropy_forward(far, right, shares)
        number(loss, expected, {floor: nearest(loss, each)})
        dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
        if usual:
            p_alone = np.exp(log_softmax(far)) * (shares / shares.sum())[..., None]
            suspects = {"where p is 0, the 1 of onehot is missing": p_alone}
            same("dlogits where p is 0", dlogits, cross_entropy_backward(1.0, its_cache)[0], suspects=suspects)


def compare_rising(forward, right, draw, *smoothing):
    """Compare the loss of many words whose logits rise, so that the last is the largest."""
    rising = np.linspace(-2, 9, 4505 if draw.first else 5)[None]
    given = rising, np.array([1]), np.ones(1), *smoothing
    with guessing("perhaps: many words are gone through in pieces, and the largest so far is not the largest of all"):
        number(forward(*given)[0], right(*given)[0], name=f"loss of {rising.size} words")


@lesson.check(0.5, "no target", of="cross_entropy_forward", formula="where all weights are 0: loss 0, gradient 0")
def no_target(yours, draw):
    for logits, labels, weights in (slots(draw), pairs(draw)):
        loss, cache = yours.cross_entropy_forward(logits, labels, weights)
        dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
        alive(loss=loss, dlogits=dlogits)
        loss, cache = yours.cross_entropy_forward(logits, labels, 0 * weights)
        number(loss, 0.0)
        dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
        one_each = (np.exp(log_softmax(logits)) - np.eye(logits.shape[-1])[labels]) / labels.size
        forgotten = {"the weights are forgotten on the way back": one_each}
        same("dlogits", dlogits, np.zeros_like(logits), suspects=forgotten)


@lesson.check(1.5, "dlogits", of="cross_entropy_backward", formula=DLOGITS)
def loss_gradient(yours, draw):
    for step, (logits, labels, weights) in zip(STEPS, kinds(draw), strict=True):
        dloss = step * (0.7 + draw.number / 16)
        dlogits, dlabels, dweights = yours.forward_and_back("cross_entropy", dloss, logits, labels, weights)
        expected = cross_entropy_backward(dloss, cross_entropy_forward(logits, labels, weights)[1])[0]
        known = {"1/dloss: dloss is not used": 1 / (dloss or 1.0), "dloss: it is used twice": dloss or 1.0,
                 "Σ w": float(weights.sum()), "Σ w divided by the number of slots": float(weights.mean())}  # fmt: skip
        suspects = Later(gradient_mistakes, logits, labels, weights, dloss) if labels.ndim else None
        same("dlogits", dlogits, expected, AXES[logits.ndim], laws=(SHIFT,), known=known, suspects=suspects)
        nothing("dlabels", dlabels)
        nothing("dweights", dweights)
    if yours.has_narrow_integers:
        given = many_words(draw)
        right = cross_entropy_backward(1.5, cross_entropy_forward(*given)[1])[0]
        beyond_16_bits("dlogits", lambda: yours.forward_and_back("cross_entropy", 1.5, *given)[0], right)


AXES = {1: "k", 2: "bk", 3: "bpk", 4: "abpk"}


def nothing(name, value):
    if value is not None:
        raise Wrong(f"{name} is not None", "whole numbers and constants have no gradient: None in their place")


@lesson.check(1, "logits", of="decoder_forward", formula="logits = x tableᵀ + bias")
def decoder_value(yours, draw):
    for x, table, bias, _ in every_state(draw):
        logits, _ = yours.decoder_forward(x, table, bias)
        right = decoder_forward(x, table, bias)[0]
        same("logits", logits, right, "bpv", suspects=Later(logits_mistakes, x, table, bias))


DECODER = "dx = dlogits table, dtable = dlogitsᵀ x, dbias = Σ dlogits"


@lesson.check(1, "decoder's gradients", of="decoder_backward", formula=DECODER)
def decoder_gradients(yours, draw):
    for x, table, bias, dlogits in every_state(draw):
        answers = yours.forward_and_back("decoder", dlogits, x, table, bias)
        expected = decoder_backward(dlogits, decoder_forward(x, table, bias)[1])
        suspects = decoder_mistakes(x, table, dlogits)
        axes = {"dx": "bpe", "dtable": "ve", "dbias": "v"}
        for (name, letters), answer, right in zip(axes.items(), answers, expected, strict=True):
            same(name, answer, right, letters, suspects=suspects[name])


@lesson.check(0.5, "gather", of="gather_forward", formula="y[b, p] = x[b, positions[b, p]]")
def gather_value(yours, draw):
    for x, positions, _ in every_place(draw):
        y, _ = yours.gather_forward(x, positions)
        same("y", y, gather_forward(x, positions)[0], "bph", suspects=Later(gather_mistakes, x, positions))
    if yours.has_narrow_integers:
        x, positions, _ = far_places(draw)
        beyond_16_bits("y", lambda: yours.gather_forward(x, positions)[0], gather_forward(x, positions)[0])


@lesson.check(1, "gather's dx", of="gather_backward", formula="dx[b, positions[b, p]] += dy[b, p]")
def gather_gradient(yours, draw):
    for x, positions, dy in every_place(draw):
        dx, dpositions = yours.forward_and_back("gather", dy, x, positions)
        right = gather_backward(dy, gather_forward(x, positions)[1])[0]
        same("dx", dx, right, "bth", suspects=Later(scatter_mistakes, x, positions, dy))
        nothing("dpositions", dpositions)
    if yours.has_narrow_integers:
        x, positions, dy = far_places(draw)
        right = gather_backward(dy, gather_forward(x, positions)[1])[0]
        beyond_16_bits("dx", lambda: yours.forward_and_back("gather", dy, x, positions)[0], right)


@lesson.check(1.5, "the tied table", of="word_gradient", formula="dword[ids[b, t]] += dy[b, t]; dword += dlogitsᵀ x")
def tied(yours, draw):
    for x, table, bias, dlogits in every_state(draw):
        (V, E), (B, P) = table.shape, x.shape[:2]
        T = 1 if P == 1 else P if P == V else P + 3
        ids = draw.integers(0, max(1, V - 1), B, T)  # the last word is looked up by every second
        ids[:, -1] = V - 1 if P % 2 else ids[:, -1]
        ids[:, min(1, T - 1)] = ids[0, 0]
        dy = bias.any() * draw.normal(B, T, E, scale=20 if V == 9 else 1)
        answer = yours.word_gradient(ids, dy, x, dlogits, V)
        right = word_gradient(ids, dy, x, dlogits, V)
        same("dword", answer, right, "ve", suspects=Later(tied_mistakes, ids, dy, x, dlogits))
    compare_words_beside_large(yours, draw)
    if yours.has_narrow_integers:
        given = last_rows(draw, 1, 4), draw.normal(1, 4, 1), draw.normal(1, 2, 1), draw.normal(1, 2, ROWS), ROWS
        beyond_16_bits("dword", lambda: yours.word_gradient(*given), word_gradient(*given))


def compare_words_beside_large(yours, draw):
    """Compare dword of words 1 to 3, where dy of word 0 is so large that a running sum loses the others."""
    ids, dy, x, dlogits = np.array([[0, 2, 0, 1]]), draw.normal(1, 4, 3), draw.normal(1, 2, 3), draw.normal(1, 2, 4)
    dy[0, 0] *= 1e12
    answer = array_of("dword", yours.word_gradient(ids, dy, x, dlogits, 4), (4, 3))
    with guessing(RUNNING_SUM):
        same("dword of words beside one of large numbers", answer[1:], word_gradient(ids, dy, x, dlogits, 4)[1:])


@lesson.check(0.5, "ln V at first", of="cross_entropy_forward", formula="all words alike: loss = ln V",
              counts_alone=False)  # fmt: skip
def first_loss(yours, draw):
    V = 1000 if draw.first else int(draw.integers(50, 2000))  # a V by V matrix is a way, too
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
    compare_with_torch(yours, dlogits, decoder, x, ids, found)


def compare_with_torch(yours, dlogits, decoder, x, ids, found):
    """Compare dlogits, and the gradients computed from it, with PyTorch's. decoder: the cache of `decoder_forward`"""
    same("dlogits (PyTorch's)", dlogits, found["dlogits"], "bpv")
    dx, _, dbias = yours.decoder_backward(dlogits, decoder)
    same("dx (PyTorch's)", dx, found["dx"], "bpe")
    same("dbias (PyTorch's)", dbias, found["dbias"], "v")
    dword = yours.word_gradient(ids, dx, x, dlogits, len(found["dword"]))
    suspects = Later(tied_mistakes, ids, dx, x, dlogits)
    same("dword (PyTorch's)", dword, found["dword"], "ve", suspects=suspects)


@lesson.check(0.5, "inputs untouched", of="decoder_forward")
def purity(yours, draw):
    logits, labels, weights = slots(draw)
    loss, cache = yours.cross_entropy_forward(logits, labels, weights)
    dlogits, _, _ = yours.cross_entropy_backward(1.0, cache)
    alive(loss=loss, dlogits=dlogits)
    call_the_others(yours, draw)
    yours.untouched()


def call_the_others(yours, draw):
    """Call the functions of decoder, gather and tied table once; raise Wrong where one returns only zeros."""
    x, table, bias, dlogits = states(draw)
    logits, cache = yours.decoder_forward(x, table, bias)
    dx, dtable, dbias = yours.decoder_backward(dlogits, cache)
    alive(logits=logits, dx=dx, dtable=dtable, dbias=dbias)
    x, positions, dy = places(draw)
    y, cache = yours.gather_forward(x, positions)
    dx, _ = yours.gather_backward(dy, cache)
    alive(y=y, dx=dx)
    ids, V = np.array([[1, 1, 2]]), 5
    alive(dword=yours.word_gradient(ids, draw.normal(1, 3, 4), draw.normal(1, 2, 4), draw.normal(1, 2, V), V))
