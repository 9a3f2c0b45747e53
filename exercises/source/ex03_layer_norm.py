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
# the loss changes with `x`, with `gain` and with `bias`, in this order. Arrays may be transposed, or parts of larger
# ones: then `reshape` may return a copy. Do not write into arguments, nor into what forward was given or has returned,
# and return arrays of their own, no views of arguments. The cache is your own, and is used once.

# %%
import numpy as np

# %% [markdown]
# ## Forward
#
# `eps` is $10^{-12}$ in the model; in some checks it is about 0.1, because there its place matters, and in some it is
# 0, where no row is constant. Numbers may be near ten million, in float64. On paper, $\sigma^2$ is also the mean of
# $x^2$ less $\mu^2$; try that with such numbers.

# %%
def layer_norm_forward(x, gain, bias, eps):
    """x: (..., H)   gain, bias: (H,)   eps: a number   Returns y (..., H), cache."""
    ### HINT Mean and variance belong to a row: one of each for every token. keepdims=True keeps them in shape.
    ### HINT c = x - mean(x), r = 1 / √(mean(c²) + eps), xhat = c r, y = gain xhat + bias; all means over the last axis.
    ### HINT c = x - m(x), r = 1 / np.sqrt(m(c * c) + eps), y = gain * c * r + bias; m(z) = z.mean(-1, keepdims=True).
    ### BEGIN SOLUTION
    centred = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)
    xhat = centred * rstd
    return xhat * gain + bias, (xhat, rstd, gain)
    ### END SOLUTION


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
    ### HINT Parameters first: they are used by each row, so their gradients are sums over rows. Then dx, path by path.
    ### HINT dbias = Σ_rows dy, dgain = Σ_rows dy xhat, dx = r (g - mean(g) - xhat mean(g xhat)), g = dy gain.
    ### HINT dgain, dbias: sum over all axes but the last. Both means of dx: over the last one, with keepdims=True.
    ### BEGIN SOLUTION
    xhat, rstd, gain = cache
    rows = tuple(range(dy.ndim - 1))
    dbias = dy.sum(axis=rows)
    dgain = (dy * xhat).sum(axis=rows)
    g = dy * gain
    direct = g - g.mean(axis=-1, keepdims=True)
    dx = (direct - xhat * (g * xhat).mean(axis=-1, keepdims=True)) * rstd
    return dx, dgain, dbias
    ### END SOLUTION


# %% [markdown]
# These are the signatures of the library: what you wrote can take the place of `minalbert.layers.layer_norm` in the
# real model. One check compares with the numbers PyTorch gives.
#
# ## Question
#
# Read $dx$ as a projection: which directions of $g$ are taken out of each row, and how do the two laws say the same?
# Then: somebody forgets the path through the variance, and tests with `dy` of ones and a gain of ones. What does the
# test say, and which `dy` and gain would have found it?
