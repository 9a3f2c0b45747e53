# %% [markdown]
# # Exercise 1: finite differences and the complex step
#
# Every gradient in this course is derived by hand, so every gradient can be wrong. Here you build the judge: it asks
# the function itself, entry by entry, and knows no calculus.
#
# In all of this, `f` takes an array of `x`'s shape and returns one number; `x` is an array of float64, of any shape.
# Its gradient has the shape of `x`: entry $i$ says how $f$ changes with $x_i$. Leave arguments as they were.

# %%
import numpy as np


def example(x):
    return (x**3).sum()                              # its gradient is 3x²


# %% [markdown]
# ## Central differences
#
# $$g_i = \frac{f(x + h\,e_i) - f(x - h\,e_i)}{2h}$$
#
# $e_i$ is one at entry $i$ and zero elsewhere. Use this formula, and the `h` that is given: with half the step, the
# error must fall to a quarter.

# %%
def central_difference(f, x, h):
    """x: any shape, h: a number   Returns the gradient, of x's shape."""
    raise NotImplementedError("ex01: central_difference is not written yet")


# %% [markdown]
# ## The complex step
#
# For a small $h$, $f(x + i h) = f(x) + i h f'(x) - \dots$: a step in the imaginary direction leaves the value in the
# real part, and the derivative in the imaginary one. Nothing is subtracted, so no digits are lost, and $h$ may be as
# small as $10^{-30}$:
#
# $$g_j = \mathrm{Im}\, f(x + i h\,e_j) / h$$
#
# Every `f` here takes complex arrays, too. The answer must be right to twelve digits, and real. Python writes $i$ as
# `1j`. Squire and Trapp, who made this trick known in 1998, tried it on
# $f(x) = e^x / (\sin^3 x + \cos^3 x)$ at $x = 1.5$; so does a check, with the derivative known to 16 digits.

# %%
def complex_step(f, x):
    """x: any shape, real   Returns the gradient, of x's shape, real, to the last digits."""
    raise NotImplementedError("ex01: complex_step is not written yet")


# %% [markdown]
# ## How wrong is it?
#
# Entry by entry, a gradient that should be zero and is $10^{-17}$ would look entirely wrong. So compare whole arrays:
#
# $$\mathrm{error} = \max_i |\mathrm{yours}_i - \mathrm{expected}_i| \; / \; \max_i |\mathrm{expected}_i|$$
#
# Where `expected` is zero everywhere, there is nothing to divide by: the error is then
# $\max_i |\mathrm{yours}_i - \mathrm{expected}_i|$ itself.

# %%
def relative_error(yours, expected):
    """yours, expected: arrays of one shape   Returns one number."""
    raise NotImplementedError("ex01: relative_error is not written yet")


# %% [markdown]
# ## The judge
#
# Somebody hands you candidates for the gradient of `f` at `x`: a dict of name and array. Name the wrong ones. Wrong is
#
# * what is off by a relative error above $10^{-10}$, as the complex step sees it,
# * what has a `nan` in it,
# * what has another shape than `x`.
#
# Values of `f` may be near 10000. Try a central difference there, and see what is left of its digits.

# %%
def find_wrong(f, gradients, x):
    """gradients: {name: array}   Returns the list of names that are wrong, in any order."""
    raise NotImplementedError("ex01: find_wrong is not written yet")


# %% [markdown]
# ## Question
#
# As $h$ shrinks from 0.1 to $10^{-12}$, the error of a central difference falls, and then grows again. Which two errors
# are at work, about where between them is the best $h$ in float64, and why does the complex step not have that
# trouble? Name one function of NumPy for which the complex step gives a wrong answer without saying so, and why.

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: central difference 1.5, order 1, complex step 2, Squire and Trapp's 0.5, relative error 1.5,
# expected is zero 0.5, find wrong 1.5, nan and shapes 1, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex01`, and for a hint `minalbert exercise hint ex01`.

# %%
from minalbert_course import check

check("ex01", globals())
