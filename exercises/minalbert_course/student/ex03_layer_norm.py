# %% [markdown]
# # Exercise 3: layer normalisation
#
# Each token's row of H numbers is shifted to mean 0, scaled to variance 1, and then given the size that the model
# likes best (Ba, Kiros and Hinton, 2016):
#
# $$y = \mathrm{gain}\;\hat x + \mathrm{bias} \qquad \hat x = (x - \mu)\,r \qquad
# r = \frac{1}{\sqrt{\sigma^2 + \varepsilon}}$$
#
# $\mu$ is the mean of the row and $\sigma^2$ the mean of $(x - \mu)^2$, divided by H, not by H - 1. Shapes: `x`, `y`
# (..., H), `gain` and `bias` (H,). The dots stand for any number of axes, at least one.
#
# A backward function is handed `dy`, how the loss changes with `y`, and whatever you put into `cache`; it returns how
# the loss changes with each of the first arguments of forward, in their order. Do not write into arguments.

# %%
import numpy as np

# %% [markdown]
# ## Forward
#
# `eps` is $10^{-12}$ in the model; in some checks it is about 0.1, for there one sees where it stands. Numbers may be
# near ten million, in float64. On paper, $\sigma^2$ is also the mean of $x^2$ less $\mu^2$; try that with such numbers.

# %%
def layer_norm_forward(x, gain, bias, eps):
    """x: (..., H)   gain, bias: (H,)   eps: a number   Returns y (..., H), cache."""
    raise NotImplementedError("ex03: layer_norm_forward is not written yet")


# %% [markdown]
# ## Backward
#
# Three paths lead from $x_j$ to the loss: directly to $y_j$; through $\mu$ to every $y_i$ of the row; through
# $\sigma^2$ to every $y_i$ of the row. Write $g = dy \cdot \mathrm{gain}$, find each path's part, and add them. What is
# left is short, if you write it with $g$, $\hat x$, $r$ and means over the row.
#
# Two laws tell whether you are right. Add a constant to a row of $x$: $y$ stays as it was, so $\sum_j dx_j = 0$. Scale
# the row's distance from its mean: but for $\varepsilon$, $y$ stays as it was, so $\sum_j dx_j \hat x_j \to 0$ as
# $\varepsilon \to 0$.
#
# `gain` and `bias` are used by every row.

# %%
def layer_norm_backward(dy, cache):
    """dy: (..., H)   Returns dx (..., H), dgain (H,), dbias (H,)."""
    raise NotImplementedError("ex03: layer_norm_backward is not written yet")


# %% [markdown]
# These are the signatures of the library: what you wrote can take the place of `minalbert.layers.layer_norm` in the
# real model. One check compares with the numbers PyTorch gives.
#
# ## Question
#
# Read $dx$ as a projection: which directions of $g$ are taken out of each row, and how do the two laws say the same?
# Then: somebody forgets the path through the variance, and tests with `dy` of ones and a gain of ones. What does the
# test say, and which `dy` and gain would have found it?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: y 2, far from zero 0.5, dx 2, two laws 1, dgain 1.5, dbias 1, other leading axes 0.5, as PyTorch 1,
# inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex03`, and for a hint `minalbert exercise hint ex03`.

# %%
from minalbert_course import check

check("ex03", globals())
