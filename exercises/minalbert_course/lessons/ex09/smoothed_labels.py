"""The variant of exercise 9: a loss with smoothed labels (Szegedy et al., 2016, arXiv:1512.00567)."""

import math

import numpy as np

from ...alike import alike
from ...compare import LIMIT, same
from ...lesson import Lesson
from ...outside import numbers as stored
from ..checks import Later, alive
from ..many_rows import beyond_16_bits
from . import losses
from .loss_draws import STEPS, kinds, many_words, pairs, slots, torch_case
from .smoothed_loss import (
    far_mistakes,
    gradient_mistakes,
    large_mistakes,
    smoothed_loss_backward,
    smoothed_loss_forward,
    smoothing_mistakes,
)

base = losses.lesson
SAME = {name: ", ".join(returns) for name, returns in base.functions.items() if not name.startswith("cross_entropy")}

variant = Lesson(
    "ex09-smooth", "smoothed labels and the tied decoder", minutes=75, variant_of="ex09",
    functions={"smoothed_loss_forward": "loss, cache", "smoothed_loss_backward": "dlogits, dlabels, dweights"} | SAME,
    withheld=base.withheld,
    references={"smoothed_loss_forward": smoothed_loss_forward, "smoothed_loss_backward": smoothed_loss_backward,
                "word_gradient": losses.word_gradient},
)  # fmt: skip

MEAN = "loss = Σ_i w_i (-Σ_j q_ij log p_ij) / Σ_i w_i, q = (1 - s) onehot + s / K"
DLOGITS = "dlogits_i = dloss (p_i - q_i) w_i / Σ w"


def smoothings(draw):
    """Shares that are all different, 0 among them."""
    yield from (0.1, 0.0) if draw.first else (float(draw.uniform(0.02, 0.4)), float(draw.uniform(0.4, 0.9)))
    while True:
        yield float(draw.uniform(0.05, 0.95))


def points(draw):
    for (logits, labels, weights), smoothing in zip(kinds(draw), smoothings(draw), strict=False):
        yield logits, labels, weights, smoothing


@variant.check(1, "loss", of="smoothed_loss_forward", formula=MEAN)
def loss_value(yours, draw):
    for given in points(draw):
        loss, _ = yours.smoothed_loss_forward(*given)
        right = smoothed_loss_forward(*given)[0]
        losses.number(loss, right, Later(smoothing_mistakes, *given) if given[1].ndim else None)
    if yours.has_narrow_integers:
        given = *many_words(draw), 0.2
        beyond_16_bits("loss", lambda: yours.smoothed_loss_forward(*given)[0], smoothed_loss_forward(*given)[0])


@variant.check(0.5, "large logits", of="smoothed_loss_forward", formula="log p_i = x_i - m - log Σ_j exp(x_j - m)")
def loss_large(yours, draw):
    logits, labels, weights = slots(draw)
    logits, weights = np.round(64 * logits) / 64, np.ones_like(weights)
    smoothing = next(smoothings(draw))
    own, _, _ = yours.forward_and_back("smoothed_loss", 1.0, logits, labels, weights, smoothing)
    for large in (logits + 3000.0, logits - 3000.0, 2000.0 * logits):
        loss, cache = yours.smoothed_loss_forward(large, labels, weights, smoothing)
        right = smoothed_loss_forward(large, labels, weights, smoothing)[0]
        losses.number(loss, right, Later(large_mistakes, large, labels, weights, smoothing, loss))
        dlogits, _, _ = yours.smoothed_loss_backward(1.0, cache)
        if np.shape(own) == logits.shape and abs(large).max() < 3500:      # if it is right is asked elsewhere
            same("dlogits of large logits", dlogits, own, "bpk")
    losses.compare_rising(yours.smoothed_loss_forward, smoothed_loss_forward, draw, smoothing)


@variant.check(0.5, "no target", of="smoothed_loss_forward", formula="where all weights are 0: loss 0, gradient 0")
def no_target(yours, draw):
    for logits, labels, weights in (slots(draw), pairs(draw)):
        loss, cache = yours.smoothed_loss_forward(logits, labels, weights, 0.3)
        dlogits, _, _ = yours.smoothed_loss_backward(1.0, cache)
        alive(loss=loss, dlogits=dlogits)
        loss, cache = yours.smoothed_loss_forward(logits, labels, 0 * weights, 0.3)
        losses.number(loss, 0.0)
        dlogits, _, _ = yours.smoothed_loss_backward(1.0, cache)
        same("dlogits", dlogits, np.zeros_like(logits))


@variant.check(1.5, "dlogits", of="smoothed_loss_backward", formula=DLOGITS)
def loss_gradient(yours, draw):
    for step, given in zip(STEPS, points(draw), strict=True):
        dloss = step * (0.7 + draw.number / 16)
        dlogits, dlabels, dweights = yours.forward_and_back("smoothed_loss", dloss, *given)
        right = smoothed_loss_backward(dloss, smoothed_loss_forward(*given)[1])[0]
        suspects = Later(gradient_mistakes, *given, dloss) if given[1].ndim else None
        axes, laws = losses.AXES[right.ndim], (losses.SHIFT,)
        same("dlogits", dlogits, right, axes, laws=laws, suspects=suspects)
        losses.nothing("dlabels", dlabels)
        losses.nothing("dweights", dweights)
    compare_far(yours, draw)
    if yours.has_narrow_integers:
        given = *many_words(draw), 0.2
        right = smoothed_loss_backward(1.5, smoothed_loss_forward(*given)[1])[0]
        beyond_16_bits("dlogits", lambda: yours.forward_and_back("smoothed_loss", 1.5, *given)[0], right)


def compare_far(yours, draw):
    """The gradient of logits that make p 0 for nearly all words, if their loss is right, which is asked elsewhere."""
    logits, labels, weights = slots(draw)
    logits, dloss = 2000.0 * np.round(64 * logits) / 64, 1.5
    given = logits, labels, weights + 0.5, next(smoothings(draw))
    loss, cache = yours.smoothed_loss_forward(*given)
    right, its_cache = smoothed_loss_forward(*given)
    if alike(right, loss, LIMIT):
        dlogits, _, _ = yours.smoothed_loss_backward(dloss, cache)
        right = smoothed_loss_backward(dloss, its_cache)[0]
        same("dlogits where p is 0", dlogits, right, "bpk", suspects=Later(far_mistakes, *given, dloss))


variant.checks += [check for check in base.checks if check.of in SAME and check.title != "inputs untouched"]


@variant.check(0.5, "ln V at first", of="smoothed_loss_forward", formula="all words alike: loss = ln V, whatever s is",
               counts_alone=False)  # fmt: skip
def first_loss(yours, draw):
    V = 1000 if draw.first else int(draw.integers(50, 2000))
    labels, smoothing = draw.integers(0, V, 1, 3), next(smoothings(draw))
    given = np.full((1, 3, V), 0.3), labels, np.ones((1, 3)), smoothing
    loss, _ = yours.smoothed_loss_forward(*given)
    losses.number(loss, math.log(V), Later(smoothing_mistakes, *given))


@variant.check(0.5, "as PyTorch", of="smoothed_loss_backward", formula="PyTorch's cross_entropy with label_smoothing")
def outside(yours, draw):
    x, table, bias, ids, labels, weights = torch_case()
    found = stored("ex09_smooth")
    logits, decoder = yours.decoder_forward(x, table, bias)
    loss, cache = yours.smoothed_loss_forward(logits, labels, weights, 0.1)
    suspects = Later(smoothing_mistakes, logits, labels, weights, 0.1)
    losses.number(loss, found["loss"], suspects, "loss (PyTorch's)")
    dlogits, _, _ = yours.smoothed_loss_backward(1.0, cache)
    losses.compare_with_torch(yours, dlogits, decoder, x, ids, found)


@variant.check(0.5, "inputs untouched", of="decoder_forward")
def purity(yours, draw):
    loss, cache = yours.smoothed_loss_forward(*slots(draw), 0.2)
    dlogits, _, _ = yours.smoothed_loss_backward(1.0, cache)
    alive(loss=loss, dlogits=dlogits)
    losses.call_the_others(yours, draw)
    yours.untouched()
