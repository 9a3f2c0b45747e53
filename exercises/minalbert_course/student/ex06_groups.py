# %% [markdown]
# # Exercise 6: groups of layers that share
#
# ALBERT applies one block L times, always with the same weights. Between that and a set of weights for each layer
# there is a middle: G groups of layers, one set of weights for each. Layers are counted from 0, and layer $l$ has the
# weights of group
#
# $$g(l) = \lfloor l\,G / L \rfloor$$
#
# so a group is a run of layers. With G = 1 all layers share, with G = L none do.
#
# The block is given. `x`, `y`, `dy`, `dx` are (B, T, H), `mask` is (B, 1, 1, T), `heads` and `eps` are numbers, and the
# weights of a block are a dict of 16 arrays by name (`"attention.query.w"`, ..., `"ffn.norm.bias"`).
#
# | forward | backward |
# |---|---|
# | `block_forward(x, weights, mask, heads, eps)` -> y, cache | `block_backward(dy, cache)` -> dx, dweights: a dict |
#
# Do not write into arguments, the cache included: others still need them.

# %%
import numpy as np

from minalbert_course.block import block_backward, block_forward

# %% [markdown]
# ## The encoder
#
# `weights` is a list of G dicts, `layers` is L, at least G. Think of a copy of the weights for each layer: each copy
# has a gradient of its own. Then the copies of a group become one. What is its gradient?

# %%
def encoder_forward(x, weights, mask, heads, eps, layers):
    """x, y: (B, T, H)   weights: a list of dicts, one for each group   layers: L   Returns y, cache."""
    raise NotImplementedError("ex06-groups: encoder_forward is not written yet")


def encoder_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dweights: a list of dicts with the names of the weights, one for each group."""
    raise NotImplementedError("ex06-groups: encoder_backward is not written yet")


# %% [markdown]
# The last check but one compares with the encoder of transformers' `AlbertModel`, of 4 layers in 2 groups, and with the
# gradients that PyTorch found for it.
#
# ## Question
#
# Take G from 1 to L. Which of these grows with it, and how, and which does not: the parameters, the caches between
# forward and backward, the time of a step? And why can a framework not find out from a group's gradient alone which of
# its layers a wrong part came from; what would you print, in this exercise, to find it?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: encoder 2, encoder dx 2, encoder dweights 4, as transformers 1.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex06`, and for a hint `minalbert exercise hint ex06`.

# %%
from minalbert_course import check

check("ex06-groups", globals())
