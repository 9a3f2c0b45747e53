# %% [markdown]
# # Exercise 4: tanh and GELU
#
# Between two linear maps stands a function of single numbers; without it the two would be one linear map. ALBERT has
# two such functions: tanh in the pooler, and in every layer GELU, which multiplies a number by a gate between 0 and 1.
#
# Both act on each number alone, so `x`, `y`, `dy` and `dx` have one shape, whatever it is. A backward function is
# handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it returns `dx`, how the loss
# changes with the input. Numbers near ±1000 must not overflow. Do not write into arguments: others still need them.

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
    raise NotImplementedError("ex04: tanh_forward is not written yet")


def tanh_backward(dy, cache):
    """dy, dx: any shape   Returns dx."""
    raise NotImplementedError("ex04: tanh_backward is not written yet")


# %% [markdown]
# ## GELU
#
# $$y = \tfrac12\, x\, (1 + \tanh u) \qquad u = \sqrt{2/\pi}\,(x + 0.044715\, x^3)$$
#
# This is the tanh form, which ALBERT's released weights were trained with. There is another, with the error function,
# that it stands in for; the two differ in the fourth digit, and here that is a mistake.
#
# For the way back: a product of two factors that both hang on $x$, and in one of them a function of a function.

# %%
def gelu_forward(x):
    """x, y: any shape   Returns y, cache."""
    raise NotImplementedError("ex04: gelu_forward is not written yet")


def gelu_backward(dy, cache):
    """dy, dx: any shape   Returns dx."""
    raise NotImplementedError("ex04: gelu_backward is not written yet")


# %% [markdown]
# The last check but one feeds your pairs what PyTorch's `tanh` and `gelu(approximate="tanh")` were fed, and compares
# with the numbers PyTorch gave.
#
# ## Question
#
# Somebody writes the forward pass in the tanh form and the backward pass with the derivative of the erf form. The
# model still trains, and its loss falls much as it should. Why does nobody see it there? Which check sees it, in which
# numbers must that check be run (float32 or float64, inputs of which size), and why should one mend it all the same?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: tanh 1, tanh dx 1.5, GELU 2.5, GELU dx 3.5, large numbers 0.5, as PyTorch 0.5, inputs untouched
# 0.5.
#
# In a terminal: `minalbert exercise check ex04`, and for a hint `minalbert exercise hint ex04`.

# %%
from minalbert_course import check

check("ex04", globals())
