# %% [markdown]
# # Exercise 2: linear layer and embedding
#
# Two ways into a model: numbers are multiplied by a matrix, and whole numbers look rows up in a table. In both, one
# parameter is used in many places. The rule for the way back is the same each time: **what was used many times gets
# the sum of all its gradients.**
#
# A forward function returns its result and a `cache`: whatever you want to remember. A backward function is handed
# `dy`, how the loss changes with the result, and your `cache`; it returns how the loss changes with each argument of
# forward, in their order. Each gradient has the shape of its argument. Do not write into arguments: others need them.

# %%
import numpy as np

# %% [markdown]
# ## Linear
#
# $$y_o = \sum_i x_i\,w_{io} + b_o$$
#
# for every row of $x$. Shapes: `x` (..., I), `w` (I, O), `b` (O,), `y` (..., O). The dots stand for any number of
# axes, at least one: (B, T, I) in a model, (R, I) elsewhere. All that counts is that there are many rows, and that
# `w` and `b` are the same for all of them.

# %%
def linear_forward(x, w, b):
    """x: (..., I)   w: (I, O)   b: (O,)   Returns y (..., O), cache."""
    raise NotImplementedError("ex02: linear_forward is not written yet")


def linear_backward(dy, cache):
    """dy: (..., O)   Returns dx (..., I), dw (I, O), db (O,)."""
    raise NotImplementedError("ex02: linear_backward is not written yet")


# %% [markdown]
# ## Embedding
#
# Three tables are looked up and added: which word it is, where it stands, and in which segment.
#
# $$y_{bt} = \mathrm{word}[\mathrm{ids}_{bt}] + \mathrm{position}[t] + \mathrm{token\_type}[\mathrm{types}_{bt}]$$
#
# Shapes: `ids`, `types` (B, T), whole numbers; `word` (V, E), `position` (M, E), `token_type` (2, E), `y` (B, T, E).
# Positions count from 0. The table of positions may be longer than the text: $M \ge T$.
#
# On the way back a word that comes five times gets five gradients, added. Rows that nobody looked up get zeros. Whole
# numbers have no gradient: `None`.

# %%
def embedding_forward(ids, types, word, position, token_type):
    """ids, types: (B, T)   word: (V, E)   position: (M, E)   token_type: (2, E)   Returns y (B, T, E), cache."""
    raise NotImplementedError("ex02: embedding_forward is not written yet")


def embedding_backward(dy, cache):
    """dy: (B, T, E)   Returns None, None (for ids and types), dword (V, E), dposition (M, E), dtoken_type (2, E)."""
    raise NotImplementedError("ex02: embedding_backward is not written yet")


# %% [markdown]
# These are the signatures of the library: what you wrote can take the place of `minalbert.layers.linear` and
# `minalbert.layers.embedding` in the real model. One check compares with the numbers PyTorch gives.
#
# ## Question
#
# Write the lookup `word[ids]` as a matrix product with a matrix of zeros and ones. What is in that matrix, and which
# formula of the linear layer then gives `dword`, sum over repeated words included? With B T = 4096 places and V = 30000
# words, why does nobody do it this way?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: linear y 1, dx 1, dw 1.5, db 0.5, other leading axes 0.5, embedding y 1, dword 1.5, dposition 1,
# dtoken_type 0.5, none for whole numbers 0.5, as PyTorch 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex02`, and for a hint `minalbert exercise hint ex02`.

# %%
from minalbert_course import check

check("ex02", globals())
