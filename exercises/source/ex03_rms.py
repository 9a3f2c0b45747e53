# %% [markdown]
# # Exercise 3: RMS normalisation
#
# Layer normalisation shifts each token's row to mean 0 and scales it to variance 1. Zhang and Sennrich (2019) left
# the shift out: a row is divided by the root of its mean square, and nothing else. Many models since do it this way.
#
# $$y = \mathrm{gain}\;\hat x \qquad \hat x = x\,r \qquad
# r = \frac{1}{\sqrt{\frac{1}{H}\sum_j x_j^2 + \varepsilon}}$$
#
# No mean, no bias. Shapes: `x`, `y` (..., H), `gain` (H,). The dots stand for any number of axes, at least one.
#
# A backward function is handed `dy`, how the loss changes with `y`, and whatever you put into `cache`; it returns how
# the loss changes with `x` and with `gain`. Arrays may be transposed, or parts of larger ones: then `reshape` may
# return a copy. Do not write into arguments, nor into what forward was given or has returned, and return arrays of
# their own, no views of arguments. The cache is your own, and is used once.

# %%
import numpy as np

# %% [markdown]
# ## Forward
#
# `eps` is tiny in a model; in some checks it is about 0.1, because there its place matters, and in some it is 0, where
# no row is zero.

# %%
def rms_norm_forward(x, gain, eps):
    """x: (..., H)   gain: (H,)   eps: a number   Returns y (..., H), cache."""
    ### HINT A row has one mean square. keepdims=True keeps it in shape for the division.
    ### HINT r = 1 / √(mean(x²) + eps), with the mean over the last axis; xhat = x r, y = gain xhat.
    ### HINT r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps), y = gain * x * r; the cache is (x * r, r, gain).
    ### BEGIN SOLUTION
    rrms = 1 / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps)
    xhat = x * rrms
    return xhat * gain, (xhat, rrms, gain)
    ### END SOLUTION


# %% [markdown]
# ## Backward
#
# Two paths lead from $x_j$ to the loss: directly to $y_j$, and through $r$ to every $y_i$ of the row. Begin with
# $\partial r / \partial x_j$, and write what comes out with $g = dy \cdot \mathrm{gain}$, $\hat x$, $r$ and a mean over
# the row.
#
# A law tells whether you are right. Scale a row of $x$: but for $\varepsilon$, $y$ stays as it was, so
# $\sum_j dx_j x_j \to 0$ as $\varepsilon \to 0$.
#
# `gain` is used by every row.

# %%
def rms_norm_backward(dy, cache):
    """dy: (..., H)   Returns dx (..., H), dgain (H,)."""
    ### HINT gain first: every row uses it, so its gradient is a sum over rows. Then x: once directly, once through r.
    ### HINT ∂r/∂x_j = -r³ x_j / H, so dx = r (g - xhat mean(g xhat)), with g = dy gain; dgain = Σ_rows dy xhat.
    ### HINT Sum: axis=tuple(range(dy.ndim - 1)); dx = r * (g - xhat * m), m = (g * xhat).mean(-1, keepdims=True).
    ### BEGIN SOLUTION
    xhat, rrms, gain = cache
    dgain = (dy * xhat).sum(axis=tuple(range(dy.ndim - 1)))
    g = dy * gain
    dx = (g - xhat * (g * xhat).mean(axis=-1, keepdims=True)) * rrms
    return dx, dgain
    ### END SOLUTION


# %% [markdown]
# One check compares with the numbers PyTorch gives.
#
# ## Question
#
# Read $dx$ as a projection: which direction of $g$ is taken out of each row, which one more does layer normalisation
# take out, and how does each follow from what forward is blind to? Then: on what rows do both normalisations give the
# same $\hat x$?
