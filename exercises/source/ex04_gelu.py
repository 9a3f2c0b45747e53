# %% [markdown]
# # Exercise 4: tanh and GELU
#
# Between two linear maps stands a function of single numbers; without it the two would be one linear map. ALBERT has
# two such functions: tanh in the pooler, and in every layer GELU, which multiplies a number by a gate between 0 and 1.
#
# Both act on each number alone, so `x`, `y`, `dy` and `dx`, arrays of floats, have one shape, whatever it is. A
# backward function is handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it returns
# `dx`, an array, how the loss changes with the input. Numbers near ±1000 must have right results, too, also beside
# small ones. What rounding near 1 leaves, some $10^{-16}$, is no error. Arrays may be transposed, or parts of larger
# ones: then `reshape` may return a copy. Do not write into arguments, nor into what forward was given or has returned:
# others still need them. Return arrays of their own, no views of arguments. The cache is your own, and is used once.

# %%
import numpy as np

# %% [markdown]
# ## tanh, to warm up
#
# $$y = \tanh(x)$$
#
# NumPy has it: `np.tanh`. What is worth keeping for the way back?

# %%
def tanh_forward(x):
    """x, y: any shape   Returns y, cache."""
    ### HINT One call of NumPy; the cache is what you will want to have when you come back.
    ### HINT The derivative of tanh can be written with y alone.
    ### HINT y = np.tanh(x); the cache is y.
    ### BEGIN SOLUTION
    y = np.tanh(x)
    return y, y
    ### END SOLUTION


def tanh_backward(dy, cache):
    """dy, dx: any shape   Returns dx."""
    ### HINT Each number has its own derivative, and the chain rule multiplies by what comes from above.
    ### HINT The derivative of tanh(x) is 1 - tanh²(x), so dx = dy (1 - y²).
    ### HINT dx is dy * (1 - y * y), entry by entry; y is in the cache.
    ### BEGIN SOLUTION
    y = cache
    return dy * (1 - y * y)
    ### END SOLUTION


# %% [markdown]
# ## GELU
#
# $$y = \tfrac12\, x\, (1 + \tanh u) \qquad u = \sqrt{2/\pi}\,(x + 0.044715\, x^3)$$
#
# This is the tanh form, which ALBERT's released weights were trained with. There is another, with the error function,
# that it stands in for; the two differ in the fourth digit, and here that is a mistake.
#
# For the way back: a product of two factors that both depend on $x$, and in one of them a function of a function.

# %%
def gelu_forward(x):
    """x, y: any shape   Returns y, cache."""
    ### HINT First u, from x; then the gate, from u; then the product with x.
    ### HINT The gate is ½ (1 + tanh u). Where the gate is 1, y is x; where it is 0, y is 0.
    ### HINT u = √(2/π) (x + 0.044715 x³) with np.sqrt and np.pi; np.tanh, plus 1, halved, times x. Cache: x.
    ### BEGIN SOLUTION
    u = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    y = 0.5 * x * (1 + np.tanh(u))
    return y, x
    ### END SOLUTION


def gelu_backward(dy, cache):
    """dy, dx: any shape   Returns dx."""
    ### HINT The product rule: what x does as a factor, and what it does inside the gate.
    ### HINT dx = dy (½ (1 + tanh u) + ½ x (1 - tanh² u) u'). What is u', the derivative of u?
    ### HINT With t = tanh u, du = √(2/π) (1 + 3 * 0.044715 * x**2): dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du).
    ### BEGIN SOLUTION
    x = cache
    t = np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))
    du = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * x**2)
    slope = 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * du
    return dy * slope
    ### END SOLUTION


# %% [markdown]
# The last check but one feeds your pairs what PyTorch's `tanh` and `gelu(approximate="tanh")` were fed, and compares
# with the numbers PyTorch gave.
#
# ## Question
#
# Somebody writes the forward pass in the tanh form and the backward pass with the derivative of the erf form. The
# model still trains, and its loss falls much as it should. Why does nobody see it there? Which check sees it, in which
# numbers must that check be run (float32 or float64, inputs of which size), and why should one mend it all the same?
