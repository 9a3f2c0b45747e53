# %% [markdown]
# # Exercise 6: layers that share attention alone
#
# ALBERT applies one block L times, always with the same weights. The paper also tries half of it: all layers share the
# attention, and each has a feed-forward part (FFN) of its own. That costs parameters, and hardly any accuracy.
#
# The block is given. `x`, `y`, `dy`, `dx` are (B, T, H), `mask` is (B, 1, 1, T), `heads` and `eps` are numbers, and the
# weights of a block are a dict of 16 arrays by name: ten begin with `attention.`, six with `ffn.`; each half has its
# norm.
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
# `attention` is a dict of the ten, `ffns` a list of L dicts of the six, one for each layer, from the first to the last.
# What comes back has the same names: `dattention` a dict of ten, `dffns` a list of L dicts of six.

# %%
def encoder_forward(x, attention, ffns, mask, heads, eps):
    """x, y: (B, T, H)   attention: a dict   ffns: a list of L dicts   Returns y, cache."""
    raise NotImplementedError("ex06-ffn: encoder_forward is not written yet")


def encoder_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dattention (a dict), dffns (a list of dicts)."""
    raise NotImplementedError("ex06-ffn: encoder_backward is not written yet")


# %% [markdown]
# The last check but one compares with the encoder of transformers' `AlbertModel`, its three layers handed one
# attention, and with the gradients that PyTorch found for it.
#
# ## Question
#
# Compare: all shared, attention alone, nothing. Which of these differ, and how much for H = 768, F = 3072, L = 12, and
# which do not: the parameters of the layers, the caches between forward and backward, the time of a step? And what does
# the shared attention's gradient tell you about a mistake in one layer; what would you print to find it?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: encoder 2, encoder dx 2, dattention 2.5, dffns 1.5, as transformers 1.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex06`, and for a hint `minalbert exercise hint ex06`.

# %%
from minalbert_course import check

check("ex06-ffn", globals())
