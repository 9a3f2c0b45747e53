# %% [markdown]
# # Exercise 10: LAMB
#
# LAMB is Adam with the length of each tensor's step set by the tensor's own length. You write the form that ALBERT was
# trained with, the clipping that comes before it, and the rule by which its rate follows the batch.
#
# `w`, `g`, `m`, `v` have one shape, that of a single tensor of the model. Arrays may be transposed, or parts of larger
# ones: then `reshape` may return a copy. Do not write into arguments: `lamb_step` returns new arrays, which share no
# memory with them, and `clip` new ones for what it changes: a short gradient's dict may be returned itself.

# %%
import numpy as np

# %% [markdown]
# ## One step of one tensor
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2 \qquad
# u = \frac{m}{\sqrt v + \varepsilon} + \lambda w$$
#
# $$r = \|w\| / \|u\| \qquad w \leftarrow w - \text{rate}\; r\, u$$
#
# The norm of a tensor is $\sqrt{\sum x^2}$ over all its entries. $r = 1$ if either norm is zero. There is no bias
# correction, $\varepsilon$ is outside the root, and the decay $\lambda w$ is part of $u$.
#
# Biases and the gains of the norms are exempt: for a tensor of one axis $\lambda = 0$ and $r = 1$.

# %%
def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay):
    """w, g, m, v: arrays of one shape   betas: (β₁, β₂)   eps: ε   weight_decay: λ
    t: the number of this step, 1 for the first; without bias correction nothing asks for it

    Returns the new w, m, v, and ratio: r, a number.
    """
    ### HINT First both means, then the direction u, and only then the two norms. Which w do they see?
    ### HINT u = m / (√v + ε) + λ w with the new m and v; r = ‖w‖ / ‖u‖ with the old w; mind the exceptions.
    ### HINT Where w.ndim is 1: no decay, r = 1. Else λ w goes into u, before np.linalg.norm of old w and of u.
    ### BEGIN SOLUTION
    beta1, beta2 = betas
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    u = m / (np.sqrt(v) + eps)
    if w.ndim == 1:
        return w - rate * u, m, v, 1.0
    u = u + weight_decay * w
    w_norm, u_norm = np.sqrt((w**2).sum()), np.sqrt((u**2).sum())
    ratio = w_norm / u_norm if w_norm > 0 and u_norm > 0 else 1.0
    return w - rate * ratio * u, m, v, ratio
    ### END SOLUTION


# %% [markdown]
# ## Clipping
#
# Before the step, the whole gradient is made no longer than `limit`. Its norm is that of all tensors together,
# $\sqrt{\sum g^2}$; a gradient that is longer than `limit` is multiplied by limit / norm, a shorter one stays as it is.

# %%
def clip(gradients, limit):
    """gradients: {name: array}   limit: a number above 0

    Returns clipped, {name: array} of the same names, and norm, a number: that of the whole gradient before clipping.
    """
    ### HINT One number for all tensors: the direction of the whole gradient must not change.
    ### HINT norm = √(Σ over tensors of Σ g²); the factor is limit / norm if the norm is above the limit, else 1.
    ### HINT Add (g * g).sum() over gradients.values(), then the root. A new dict, each tensor times the factor.
    ### BEGIN SOLUTION
    norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
    factor = limit / max(norm, limit)
    return {name: factor * g for name, g in gradients.items()}, norm
    ### END SOLUTION


# %% [markdown]
# ## The rate of a batch size
#
# Trained on the same number of epochs, LAMB's best rate grows with the root of the batch.

# %%
def sqrt_rate(batch, reference_batch, reference_rate):
    """Returns the rate for `batch`, where `reference_rate` is that of `reference_batch`."""
    ### HINT Four times the batch, twice the rate.
    ### HINT rate / reference_rate = √(batch / reference_batch).
    ### HINT np.sqrt of the batches' ratio, new over old, times the rate of the reference.
    ### BEGIN SOLUTION
    return reference_rate * np.sqrt(batch / reference_batch)
    ### END SOLUTION


# %% [markdown]
# Two checks come from outside: the rates of You et al. (2020, table 4), which are $5 / (2^k \cdot 1000)$ with
# $k = 3, 2.5, \dots, 0$ for batches of 512, 1024, ..., 32768 (4096 has 0.00177, ALBERT's rate); and three steps by
# `optax.lamb`, begun at a step so large that its bias correction is 1.
#
# ## Question
#
# Someone joins the query, key and value matrices of attention into one tensor of three times the width, which computes
# the same function. With Adam, training goes on just as before. With LAMB it does not. Why? When would the difference
# be large? And by how much does one step of LAMB change a matrix, measured by its norm?
