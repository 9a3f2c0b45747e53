# %% [markdown]
# # Exercise 4: GELU with the error function
#
# GELU multiplies a number by a gate between 0 and 1: the probability that a normally distributed number is smaller.
#
# $$y = x\,\Phi(x) \qquad \Phi(x) = \tfrac12\,(1 + \mathrm{erf}(x/\sqrt2)) \qquad
# \Phi'(x) = \varphi(x) = e^{-x^2/2} / \sqrt{2\pi}$$
#
# That is GELU as its authors define it, and as BERT has it. ALBERT's released weights have the tanh form, which differs
# in the fourth digit; here that is a mistake.
#
# All functions act on each number alone, so `x`, `y`, `dy` and `dx` have one shape, whatever it is. A backward function
# is handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it returns `dx`, how the loss
# changes with the input. Numbers near ±1000 must not overflow. Do not write into arguments: others still need them.
#
# NumPy has no `erf`, so the package's own is given: `erf(x)` of an array. (`math.erf`, and SciPy's if you have it, give
# the same numbers.)

# %%
import numpy as np

from minalbert.layers.erf import erf

# %% [markdown]
# ## The normal distribution

# %%
def Phi(x):
    """x, p: any shape   Returns p, the probability that a normally distributed number is below x."""
    raise NotImplementedError("ex04-erf: Phi is not written yet")


def phi(x):
    """x, p: any shape   Returns p, the density of the normal distribution: the derivative of Phi."""
    raise NotImplementedError("ex04-erf: phi is not written yet")


# %% [markdown]
# ## GELU
#
# For the way back: a product of two factors that both hang on $x$.

# %%
def gelu_erf_forward(x):
    """x, y: any shape   Returns y, cache."""
    raise NotImplementedError("ex04-erf: gelu_erf_forward is not written yet")


def gelu_erf_backward(dy, cache):
    """dy, dx: any shape   Returns dx."""
    raise NotImplementedError("ex04-erf: gelu_erf_backward is not written yet")


# %% [markdown]
# The last check but one feeds your pair what PyTorch's `gelu` was fed, and compares with the numbers PyTorch gave.
#
# ## Question
#
# Somebody writes the forward pass in the erf form and the backward pass with the derivative of the tanh form. The
# model still trains, and its loss falls much as it should. Why does nobody see it there? Which check sees it, in which
# numbers must that check be run (float32 or float64, inputs of which size), and why should one mend it all the same?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: Phi 1.5, phi 1.5, GELU 2, GELU dx 3.5, large numbers 0.5, as PyTorch 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex04`, and for a hint `minalbert exercise hint ex04`.

# %%
from minalbert_course import check

check("ex04-erf", globals())
