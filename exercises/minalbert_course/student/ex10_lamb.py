# %% [markdown]
# # Exercise 10: LAMB
#
# LAMB is Adam with the length of each tensor's step set by the tensor's own length. You write the form that ALBERT was
# trained with, the clipping that comes before it, and the rule by which its rate follows the batch.
#
# `w`, `g`, `m`, `v` have one shape, that of a single tensor of the model. Do not write into arguments: return new
# arrays.

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

    Returns w, m, v anew, and ratio: r, a number.
    """
    raise NotImplementedError("ex10: lamb_step is not written yet")


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
    raise NotImplementedError("ex10: clip is not written yet")


# %% [markdown]
# ## The rate of a batch size
#
# Trained on the same number of epochs, LAMB's best rate grows with the root of the batch.

# %%
def sqrt_rate(batch, reference_batch, reference_rate):
    """Returns the rate for `batch`, where `reference_rate` is that of `reference_batch`."""
    raise NotImplementedError("ex10: sqrt_rate is not written yet")


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

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: m and v 1.5, trust ratio 2, new weights 2, vectors exempt 1, zero norms 0.5, clip 1, small
# gradients 0.5, the paper's rates 0.5, as optax 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex10`, and for a hint `minalbert exercise hint ex10`.

# %%
from minalbert_course import check

check("ex10", globals())
