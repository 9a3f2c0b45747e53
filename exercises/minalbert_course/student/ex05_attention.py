# %% [markdown]
# # Exercise 5: softmax and attention
#
# Each head compares every token with every other and takes a weighted mean of their values:
#
# $$P = \mathrm{softmax}(q k^\top / \sqrt{D} + \text{mask}) \qquad \text{context} = P\,v$$
#
# You write softmax and attention, and the way back through both. Shapes: `q, k, v, context` (B, N, T, D), the
# probabilities (B, N, T, T), `mask` (B, 1, 1, T): 0 for a token, -10000 for padding. B sequences, N heads, T tokens,
# D numbers a head.
#
# A backward function is handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments. Do not write into arguments:
# others still need them.

# %%
import numpy as np

# %% [markdown]
# ## Softmax
#
# $$y_i = \exp(x_i) / \sum_j \exp(x_j)$$
#
# Over the last axis. Numbers near 2000 must not overflow: subtract each row's largest first, which changes nothing in
# exact arithmetic. For the way back, $\partial y_i/\partial x_j = y_i(\delta_{ij} - y_j)$.

# %%
def softmax_forward(x):
    """x, y: (..., K)   Returns y, cache."""
    raise NotImplementedError("ex05: softmax_forward is not written yet")


def softmax_backward(dy, cache):
    """dy, dx: (..., K)   Returns dx."""
    raise NotImplementedError("ex05: softmax_backward is not written yet")


# %% [markdown]
# ## Attention
#
# Walk forward's lines from the last to the first; each line has its own backward line. What does the factor
# $1/\sqrt{D}$ do on the way back?

# %%
def attention_forward(q, k, v, mask):
    """q, k, v: (B, N, T, D)   mask: (B, 1, 1, T)   Returns context (B, N, T, D), cache."""
    raise NotImplementedError("ex05: attention_forward is not written yet")


def attention_backward(dcontext, cache):
    """dcontext: (B, N, T, D)   Returns dq, dk, dv, and None for the mask, which is a constant."""
    raise NotImplementedError("ex05: attention_backward is not written yet")


# %% [markdown]
# The last check feeds your two pairs what PyTorch's `scaled_dot_product_attention` was fed, and compares context and
# gradients with the numbers PyTorch gave.
#
# ## Question
#
# Add one vector to every key: no probability changes. Why? What does that say about the gradient of the key bias, and
# what would a relative error, entry by entry, say about that gradient in a gradient check?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: softmax 1, large numbers 0.5, softmax dx 1.5, context 1.5, dv 1.5, dq 1.5, dk 1, padding 0.5, as
# PyTorch 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex05`, and for a hint `minalbert exercise hint ex05`.

# %%
from minalbert_course import check

check("ex05", globals())
