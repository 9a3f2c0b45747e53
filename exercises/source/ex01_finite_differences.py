# %% [markdown]
# # Exercise 1: finite differences and the complex step
#
# Every gradient in this course is derived by hand, so every gradient can be wrong. Here you build the judge: it asks
# the function itself, entry by entry, and knows no calculus.
#
# In all of this, `f` takes an array of `x`'s shape and returns one number; `x` is an array of float64, of any shape,
# never empty. Its gradient has the shape of `x`: entry $i$ says how $f$ changes with $x_i$. Arrays may be transposed,
# or parts of larger ones: then `reshape` may return a copy. Never change an argument, not even for a moment: `f` may
# read `x` itself. Return new arrays.

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
    """x: any shape, h: a number   Returns the gradient, an array of x's shape."""
    ### HINT The gradient has as many numbers as x. Each of them needs two calls of f, with one entry moved.
    ### HINT g_i = (f(x + h e_i) - f(x - h e_i)) / (2h); np.ndindex(x.shape) walks through all i of any shape.
    ### HINT np.ndindex for the places. A fresh array of zeros with h at one; call f with it added, and subtracted.
    ### BEGIN SOLUTION
    gradient = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = h
        gradient[i] = (f(x + step) - f(x - step)) / (2 * h)
    return gradient
    ### END SOLUTION


# %% [markdown]
# ## The complex step
#
# For a small $h$, $f(x + i h) = f(x) + i h f'(x) - \dots$: a step in the imaginary direction leaves the value in the
# real part, and the derivative in the imaginary one. Nothing is subtracted, so no digits are lost, and $h$ may be as
# small as $10^{-30}$:
#
# $$g_j = \mathrm{Im}\, f(x + i h\,e_j) / h$$
#
# Every `f` here takes complex arrays, too. The answer must be right to twelve digits, also where `f` changes as fast
# as $\sin(10000\,x)$, and real. Python writes $i$ as `1j`. Squire and Trapp, who made this trick known in 1998, tried
# it on $f(x) = e^x / (\sin^3 x + \cos^3 x)$ at $x = 1.5$; so does a check, with the derivative known to 16 digits.

# %%
def complex_step(f, x):
    """x: any shape, real   Returns the gradient, an array of x's shape, real, to the last digits."""
    ### HINT As before, one entry at a time; but the step is imaginary, and one call of f is enough.
    ### HINT g_j = Im f(x + i h e_j) / h with h = 1e-30; an array of floats cannot hold a complex step.
    ### HINT Zeros with dtype complex, and 1j times h at one place; of f's value take .imag, and divide by h.
    ### BEGIN SOLUTION
    h = 1e-30
    gradient = np.zeros(x.shape)
    for j in np.ndindex(x.shape):
        step = np.zeros(x.shape, complex)
        step[j] = 1j * h
        gradient[j] = f(x + step).imag / h
    return gradient
    ### END SOLUTION


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
    """yours, expected: arrays of one shape, neither of them empty   Returns one number."""
    ### HINT Two numbers decide: the largest difference, and the largest entry of what is expected. Mind the signs.
    ### HINT With d = max|yours - expected| and s = max|expected|: d / s, or d if s is 0.
    ### HINT np.abs before .max(), once of yours - expected, once of expected; divide where that is above 0.
    ### BEGIN SOLUTION
    difference = np.abs(yours - expected).max()
    size = np.abs(expected).max()
    return difference / size if size > 0 else difference
    ### END SOLUTION


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
    ### HINT You have both parts already: one finds the right gradient, the other how far a candidate is from it.
    ### HINT Ask for the shape first, since arrays of other shapes may broadcast. Is nan > 1e-10? Is nan <= 1e-10?
    ### HINT Call complex_step once. A name is wrong if shapes differ, or if `not error <= 1e-10`, as for nan.
    ### BEGIN SOLUTION
    expected = complex_step(f, x)
    wrong = []
    for name, candidate in gradients.items():
        if candidate.shape != x.shape or not relative_error(candidate, expected) <= 1e-10:
            wrong.append(name)
    return wrong
    ### END SOLUTION


# %% [markdown]
# ## Question
#
# As $h$ shrinks from 0.1 to $10^{-12}$, the error of a central difference falls, and then grows again. Which two errors
# are at work, about where between them is the best $h$ in float64, and why does the complex step not have that
# trouble? Name one function of NumPy for which the complex step gives a wrong answer without saying so, and why.
