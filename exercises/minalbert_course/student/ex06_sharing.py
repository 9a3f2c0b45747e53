# %% [markdown]
# # Exercise 6: a block and its sharing
#
# A layer of ALBERT is a block of two halves. Each adds something to what it was given, and then normalises:
#
# $$x \leftarrow \mathrm{norm}(x + \mathrm{attention}(x)) \qquad
# x \leftarrow \mathrm{norm}(x + \mathrm{down}(\mathrm{gelu}(\mathrm{up}(x))))$$
#
# The two norms have weights of their own. ALBERT applies one block L times, always with the same weights. You write
# the block, then the loop, and the way back through both.
#
# `x`, `y`, `dy`, `dx` are (B, T, H), `mask` is (B, 1, 1, T) and goes to the attention, `heads` and `eps` are numbers.
# `weights` is a dict of 16 arrays; H is the width of the layers, F that of the feed-forward part:
#
# | names | shapes |
# |---|---|
# | `attention.query.w`, `attention.query.b`, and so `key`, `value`, `output` | (H, H), (H,) |
# | `attention.norm.gain`, `attention.norm.bias` | (H,), (H,) |
# | `ffn.up.w`, `ffn.up.b` | (H, F), (F,) |
# | `ffn.down.w`, `ffn.down.b` | (F, H), (H,) |
# | `ffn.norm.gain`, `ffn.norm.bias` | (H,), (H,) |
#
# The pairs of the package are yours to use:
#
#     y, cache = linear_forward(x, w, b)                   dx, dw, db = linear_backward(dy, cache)
#     y, cache = gelu_forward(x)                           (dx,) = gelu_backward(dy, cache)
#     y, cache = layer_norm_forward(x, gain, bias, eps)    dx, dgain, dbias = layer_norm_backward(dy, cache)
#     y, cache = multi_head_forward(x, wq, bq, wk, bk, wv, bv, wo, bo, mask, heads)
#     dx, dwq, dbq, dwk, dbk, dwv, dbv, dwo, dbo, none = multi_head_backward(dy, cache)
#
# There is no dropout here. Do not write into arguments, the cache included: others still need them.

# %%
import numpy as np

from minalbert.layers import (
    gelu_backward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    multi_head_backward,
    multi_head_forward,
)

# The names in the order in which multi_head_forward takes the arrays, and multi_head_backward returns the gradients.
PROJECTIONS = [f"attention.{part}.{kind}" for part in ("query", "key", "value", "output") for kind in ("w", "b")]

# %% [markdown]
# ## The block
#
# `block_backward` returns `dx` and `dweights`, a dict with the same 16 names. On the way back, a sum hands its
# gradient to both of its terms, so each `dx` is a sum of two parts.

# %%
def block_forward(x, weights, mask, heads, eps):
    """x, y: (B, T, H)   weights: a dict, see above   mask: (B, 1, 1, T)   Returns y, cache."""
    raise NotImplementedError("ex06: block_forward is not written yet")


def block_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dweights (a dict with the names of the weights)."""
    raise NotImplementedError("ex06: block_backward is not written yet")


# %% [markdown]
# ## The encoder: the same block, L times
#
# `layers` is L, at least 1. Think of L copies of the weights: each has a gradient of its own. Then the copies become
# one, and moving it moves all of them at once. What is its gradient?

# %%
def encoder_forward(x, weights, mask, heads, eps, layers):
    """x, y: (B, T, H)   layers: how often the block is applied   Returns y, cache."""
    raise NotImplementedError("ex06: encoder_forward is not written yet")


def encoder_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dweights (a dict with the names of the weights)."""
    raise NotImplementedError("ex06: encoder_backward is not written yet")


# %% [markdown]
# The last check but one compares with the encoder of transformers' `AlbertModel`, run in three passes, and with the
# gradients that PyTorch found for it.
#
# ## Question
#
# With shared weights each tensor's gradient is a sum over L passes. Which of these does sharing make smaller, and which
# not: the parameters, the caches between forward and backward, the time of a step? And why can a framework not find out
# from the sum alone which pass a wrong gradient came from; what would you print, in this exercise, to find it?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: block 1.5, block dx 1.5, block dweights 2, encoder 1, encoder dx 1, encoder dweights 2, as
# transformers 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex06`, and for a hint `minalbert exercise hint ex06`.

# %%
from minalbert_course import check

check("ex06", globals())
