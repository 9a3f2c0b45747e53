# %% [markdown]
# # Exercise 10: LAMB, corrected and clamped
#
# LAMB is Adam with the length of each tensor's step set by the tensor's own length. You write the form with Adam's bias
# correction and a largest ratio, the clipping that comes before it, and the rule by which its rate follows the batch.
#
# `w`, `g`, `m`, `v` have one shape, that of a single tensor of the model. Do not write into arguments: return new
# arrays.

# %%
import numpy as np

# %% [markdown]
# ## One step of one tensor
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2 \qquad
# \hat m = \frac{m}{1 - \beta_1^t} \qquad \hat v = \frac{v}{1 - \beta_2^t}$$
#
# $$u = \frac{\hat m}{\sqrt{\hat v} + \varepsilon} + \lambda w \qquad
# r = \min(\|w\| / \|u\|, \text{clamp}) \qquad w \leftarrow w - \text{rate}\; r\, u$$
#
# The norm of a tensor is $\sqrt{\sum x^2}$ over all its entries. $r = 1$ if either norm is zero (the clamp is then
# above 1). What is kept from step to step is $m$ and $v$, not $\hat m$ and $\hat v$.
#
# Biases and the gains of the norms are exempt: for a tensor of one axis $\lambda = 0$ and $r = 1$, whatever the clamp.

# %%
def lamb_step(w, g, m, v, rate, t, betas, eps, weight_decay, clamp):
    """w, g, m, v: arrays of one shape   betas: (β₁, β₂)   eps: ε   weight_decay: λ
    t: the number of this step, 1 for the first   clamp: the largest ratio allowed

    Returns w, m, v anew, and ratio: r, a number.
    """
    raise NotImplementedError("ex10-corrected: lamb_step is not written yet")


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
    raise NotImplementedError("ex10-corrected: clip is not written yet")


# %% [markdown]
# ## The rate of a batch size
#
# Trained on the same number of epochs, LAMB's best rate grows with the root of the batch.

# %%
def sqrt_rate(batch, reference_batch, reference_rate):
    """Returns the rate for `batch`, where `reference_rate` is that of `reference_batch`."""
    raise NotImplementedError("ex10-corrected: sqrt_rate is not written yet")


# %% [markdown]
# Two checks come from outside: the rates of You et al. (2020, table 4), which are $5 / (2^k \cdot 1000)$ with
# $k = 3, 2.5, \dots, 0$ for batches of 512, 1024, ..., 32768 (4096 has 0.00177, ALBERT's rate); and three steps by
# `optax.lamb`, which corrects, and has no clamp.
#
# ## Question
#
# Let both start from m = v = 0, with a constant gradient g, no decay and a tiny ε. What is u at t = 1 with correction,
# and what without it (β₁ = 0.9, β₂ = 0.999)? For a matrix without a clamp, the new w is the same either way. Why? For
# which tensors does the correction matter, then, and what else in a training run hides its absence?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: m and v 1.5, trust ratio 1.5, clamp 1, new weights 1.5, vectors exempt 1, zero norms 0.5, clip 1,
# small gradients 0.5, the paper's rates 0.5, as optax 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex10`, and for a hint `minalbert exercise hint ex10`.

# %%
from minalbert_course import check

check("ex10-corrected", globals())
