"""Exercise 5: softmax and attention."""

import math

import numpy as np

from minalbert.gradcheck.diagnose import Law
from minalbert.layers import (
    attention_backward,
    attention_forward,
    key_mask,
    log_softmax,
    multi_head_backward,
    multi_head_forward,
    softmax,
    softmax_backward,
    softmax_forward,
)

from ..compare import Wrong, same
from ..lesson import Lesson
from ..outside import numbers, ramp

lesson = Lesson(
    "ex05", "softmax and attention", minutes=75,
    functions={
        "softmax_forward": "y, cache",
        "softmax_backward": "dx",
        "attention_forward": "context, cache",
        "attention_backward": "dq, dk, dv, dmask",
    },
    withheld=(softmax, log_softmax, softmax_forward, softmax_backward, attention_forward, attention_backward,
              multi_head_forward, multi_head_backward),
)  # fmt: skip
LESSONS = [lesson]

PULLED_BACK = Law(
    "the rows of dx do not sum to zero, as they must: adding a constant to a row of x changes nothing. Usually the "
    "term - y Σ_j dy_j y_j is missing, or summed over another axis",
    lambda dx: dx.sum(axis=-1),
)
SCORES = "dq = dS k / √D, dk = dSᵀ q / √D, with dS = P (dP - Σ_j dP_j P_j) and dP = dcontext vᵀ"


@lesson.check(1, "softmax", of="softmax_forward", formula="y_i = exp(x_i) / Σ_j exp(x_j), over the last axis")
def softmax_value(yours, draw):
    x = draw.normal(*draw.sizes(B=2, T=5, K=4), scale=2)
    y, _ = yours.softmax_forward(x)
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    suspects = {
        "softmax over the wrong axis: it must be the last": softmax(x.swapaxes(-1, -2)).swapaxes(-1, -2),
        "the sum is taken over the wrong axis: it must be the last": shifted / shifted.sum(axis=-2, keepdims=True),
        "the sum is taken over all axes: it must be the last alone": shifted / shifted.sum(),
    }
    same("y", y, softmax(x), "btk", suspects=suspects)


@lesson.check(0.5, "large numbers", of="softmax_forward", formula="y is the same for x and x - max(x)")
def softmax_large(yours, draw):
    x = draw.normal(*draw.sizes(T=3, K=4)) + np.array([[2000.0]])
    y, _ = yours.softmax_forward(x)
    same("y of numbers near 2000", y, softmax(x), "tk")


@lesson.check(1.5, "softmax dx", of="softmax_backward", formula="dx = y (dy - Σ_j dy_j y_j)")
def softmax_gradient(yours, draw):
    x = draw.normal(*draw.sizes(B=2, T=5, K=4), scale=2)
    dy = draw.normal(*x.shape)
    _, cache = yours.softmax_forward(x)
    (dx,) = softmax_backward(dy, softmax_forward(x)[1])
    same("dx", yours.softmax_backward(dy, cache), dx, "btk", laws=(PULLED_BACK,))


def point(draw):
    """q, k, v, mask and dcontext; the last key of some sequences is padding."""
    B, N, T, D = draw.sizes(B=2, N=3, T=5, D=8, least=2)
    q, k, v, dcontext = (draw.normal(B, N, T, D) for _ in range(4))
    return q, k, v, key_mask(draw.padding(B, T), np.float64), dcontext


def constants(q):
    return {"√D": math.sqrt(q.shape[-1]), "D": q.shape[-1]}


def reference(q, k, v, mask, dcontext):
    context, cache = attention_forward(q, k, v, mask)
    return context, attention_backward(dcontext, cache)


@lesson.check(1.5, "context", of="attention_forward", formula="context = softmax(q kᵀ / √D + mask) v")
def attention_value(yours, draw):
    q, k, v, mask, _ = point(draw)
    context, _ = yours.attention_forward(q, k, v, mask)
    scores = q @ k.swapaxes(-1, -2)
    scale = 1 / math.sqrt(q.shape[-1])
    suspects = {
        "the scores are not divided by √D": softmax(scores + mask) @ v,
        "the scores are divided by D, not by √D": softmax(scores * scale**2 + mask) @ v,
        "the mask is not added to the scores": softmax(scores * scale) @ v,
        "softmax is taken over the queries, not over the keys (the last axis)":
            softmax((scores * scale + mask).swapaxes(-1, -2)).swapaxes(-1, -2) @ v,
        "the probabilities are used transposed": softmax(scores * scale + mask).swapaxes(-1, -2) @ v,
    }  # fmt: skip
    same("context", context, reference(q, k, v, mask, v)[0], "bntd", suspects=suspects)


@lesson.check(1.5, "dv", of="attention_backward", formula="dv = Pᵀ dcontext")
def value_gradient(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    _, cache = yours.attention_forward(q, k, v, mask)
    _, _, dv, _ = yours.attention_backward(dcontext, cache)
    probs = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + mask)
    suspects = {"the probabilities are not transposed in dv = Pᵀ dcontext": probs @ dcontext}
    same("dv", dv, reference(q, k, v, mask, dcontext)[1][2], "bntd", suspects=suspects)


@lesson.check(1.5, "dq", of="attention_backward", formula=SCORES)
def query_gradient(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    _, cache = yours.attention_forward(q, k, v, mask)
    dq, _, _, _ = yours.attention_backward(dcontext, cache)
    dprobs = dcontext @ v.swapaxes(-1, -2)
    suspects = {"softmax's backward pass is left out: dS is taken to be dP": dprobs @ k / math.sqrt(q.shape[-1])}
    expected = reference(q, k, v, mask, dcontext)[1][0]
    same("dq", dq, expected, "bntd", known=constants(q), suspects=suspects)


@lesson.check(1, "dk", of="attention_backward", formula=SCORES)
def key_gradient(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    _, cache = yours.attention_forward(q, k, v, mask)
    _, dk, _, _ = yours.attention_backward(dcontext, cache)
    law = Law(
        "Σ over keys of dk is not zero, as it must be: one vector added to all keys changes no probability. Usually "
        "dS is not transposed in dk = dSᵀ q, or softmax's backward pass is left out",
        lambda dk: dk.sum(axis=-2),
    )
    expected = reference(q, k, v, mask, dcontext)[1][1]
    same("dk", dk, expected, "bntd", laws=(law,), known=constants(q))


@lesson.check(0.5, "padding", of="attention_backward", formula="where P is 0, dk and dv are 0; never NaN")
def padding(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    mask = mask.copy()
    mask[0, :, :, 0] = -10000.0                      # the first key, which others have
    context, cache = yours.attention_forward(q, k, v, mask)
    _, dk, dv, _ = yours.attention_backward(dcontext, cache)
    for name, gradient in (("dk", dk), ("dv", dv)):
        same(f"{name} of a padded key", np.asarray(gradient, float)[0, :, 0], np.zeros_like(k[0, :, 0]))
    context, _ = yours.attention_forward(q, k, v, np.full_like(mask, -10000.0))
    if not np.isfinite(np.asarray(context, float)).all():
        raise Wrong("context is not finite where all keys are padding", "the mask is made -inf somewhere")


@lesson.check(0.5, "as PyTorch", of="attention_backward", formula="PyTorch's scaled_dot_product_attention")
def outside(yours, draw):
    q, k, v, dcontext = (ramp(2, 2, 3, 4, start=start) for start in (1, 2, 3, 4))
    mask = key_mask(np.array([[1, 1, 1], [1, 1, 0]]), np.float64)
    context, cache = yours.attention_forward(q, k, v, mask)
    gradients = yours.attention_backward(dcontext, cache)
    for name, answer in zip(("context", "dq", "dk", "dv"), (context, *gradients[:3]), strict=True):
        same(f"{name} (PyTorch's numbers)", answer, numbers("ex05")[name], "bntd")


@lesson.check(0.5, "inputs untouched", of="attention_forward")
def purity(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    x = draw.normal(3, 4)
    _, cache = yours.softmax_forward(x)
    yours.softmax_backward(draw.normal(3, 4), cache)
    _, cache = yours.attention_forward(q, k, v, mask)
    yours.attention_backward(dcontext, cache)
    yours.untouched()
