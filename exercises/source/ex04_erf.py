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
# All functions act on each number alone, so `x`, `y`, `dy` and `dx`, arrays of floats, have one shape, whatever it is.
# A backward function is handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it
# returns `dx`, an array, how the loss changes with the input. Numbers near ±1000 must have right results, too, also
# beside small ones. What rounding near 1 leaves, some $10^{-16}$, is no error. Arrays may be transposed, or parts of
# larger ones: then `reshape` may return a copy. Do not write into arguments, nor into what forward was given or has
# returned: others still need them. Return arrays of their own, no views of arguments. The cache is your own, and is
# used once.
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
    ### HINT A probability: 0 far to the left, ½ at 0, 1 far to the right. What does erf do there?
    ### HINT Φ(x) = ½ (1 + erf(x / √2)).
    ### HINT erf of x / √2, with the root as a number; add 1 to it before you halve.
    ### BEGIN SOLUTION
    return 0.5 * (1 + erf(x / np.sqrt(2)))
    ### END SOLUTION


def phi(x):
    """x, p: any shape   Returns p, the density of the normal distribution: the derivative of Phi."""
    ### HINT The bell: highest at 0, and the same at x and -x.
    ### HINT φ(x) = exp(-x²/2) / √(2π).
    ### HINT np.exp(-x * x / 2), divided by np.sqrt(2 * np.pi)
    ### BEGIN SOLUTION
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    ### END SOLUTION


# %% [markdown]
# ## GELU
#
# For the way back: a product of two factors that both depend on $x$.

# %%
def gelu_erf_forward(x):
    """x, y: any shape   Returns y, cache."""
    ### HINT A number times its gate.
    ### HINT y = x Φ(x), and Φ you have.
    ### HINT y = x * Phi(x); the cache is x.
    ### BEGIN SOLUTION
    return x * Phi(x), x
    ### END SOLUTION


def gelu_erf_backward(dy, cache):
    """dy, dx: any shape   Returns dx."""
    ### HINT The product rule: what x does as a factor, and what it does inside Φ.
    ### HINT dx = dy (Φ(x) + x φ(x)).
    ### HINT The cache is x. Call Phi and phi with it; the second summand has x as a factor. Multiply the sum by dy.
    ### BEGIN SOLUTION
    x = cache
    slope = Phi(x) + x * phi(x)
    return dy * slope
    ### END SOLUTION


# %% [markdown]
# The last check but one feeds your pair what PyTorch's `gelu` was fed, and compares with the numbers PyTorch gave.
#
# ## Question
#
# Somebody writes the forward pass in the erf form and the backward pass with the derivative of the tanh form. The
# model still trains, and its loss falls much as it should. Why does nobody see it there? Which check sees it, in which
# numbers must that check be run (float32 or float64, inputs of which size), and why should one mend it all the same?
