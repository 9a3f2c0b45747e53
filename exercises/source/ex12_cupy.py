# %% [markdown]
# # Exercise 12: the same code on two machines
#
# CuPy is NumPy on a GPU: the same functions under the same names, on arrays that live in the card's memory. One source
# serves both, if each function asks its argument where it lives and takes that library's functions:
#
#     xp = array_module(x)            # numpy or cupy
#     y = xp.tanh(x)
#
# Three rules make the rest. An array of the device meets only arrays of the device and Python's numbers. Copying to the
# host (`x.get()`, and also `float(x)`, `int(x)`, `bool(x)`, an `if` on an array) is slow, and makes Python wait until
# the card has done all that was asked of it before. And constants are Python's numbers: `np.sqrt(2)` is a float64, and
# turns float32 into float64, at half the speed or less.
#
# You need no GPU. The checks hand your functions arrays of a pretended one, NumPy behind CuPy's manners: `x.get()`
# is the only way to NumPy, and where a formula has no business on the host, `.get()` and its likes raise an error.
# It is stricter than CuPy in one thing: NumPy's functions always refuse its arrays (CuPy lets some of them pass). It
# has NumPy's functions and methods that compute with arrays, also `linalg` and the ufuncs' own methods (`add.at`);
# there is no `cupyx`. Wherever an array of the device exists, its library can be found as `sys.modules["cupy"]`; an
# `import cupy` at the top of this file would stop it on machines without. With a real GPU, try your functions on
# `cupy.asarray(x)`, too.

# %%
import math
import sys

import numpy as np

# %% [markdown]
# ## Which library?
#
# The name of the library an array belongs to. Arrays of both may live in one process, so it does not help to know
# whether CuPy is there. NumPy's single numbers, as `np.float32(1)`, are NumPy's.

# %%
def library(x):
    """x: array of NumPy or CuPy, or a single number of NumPy's   Returns "numpy" or "cupy"."""
    ### HINT Ask the array what it is, not the computer what it has.
    ### HINT np.ndarray is the type of NumPy's arrays, np.generic that of its single numbers; all else here is CuPy's.
    ### HINT isinstance(x, (np.ndarray, np.generic)) decides between the two names.
    ### BEGIN SOLUTION
    return "numpy" if isinstance(x, np.ndarray | np.generic) else "cupy"
    ### END SOLUTION


def array_module(x):
    """The library itself: xp.tanh, xp.sqrt, xp.zeros, ..."""
    return sys.modules[library(x)]


# %% [markdown]
# ## Two formulas
#
# ALBERT's GELU, and layer normalisation over the last axis:
#
# $$y = \tfrac12 x\,\Bigl(1 + \tanh\bigl(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\bigr)\Bigr)$$
#
# $$y = \text{gain}\,\frac{x - \text{mean}}{\sqrt{\text{var} + \text{eps}}} + \text{bias} \qquad
# \text{var} = \text{mean}\bigl((x - \text{mean})^2\bigr)$$
#
# Both return an array where x is, of x's dtype, without a transfer. A NumPy array that is given here has at least one
# axis; an array of the device may have none. Arrays may be transposed, or parts of larger ones: then `reshape` may
# return a copy. Do not write into arguments.

# %%
def gelu(x):
    """x, y: any shape, host or device   Returns y, where x is and with x's dtype."""
    ### HINT Which of the operations are operators, that need no library, and which one is a function? Of which library?
    ### HINT Only tanh is the library's, which `array_module` finds. The constant √(2/π) must be a number of Python's.
    ### HINT x's library by array_module, for tanh; math.sqrt gives a float; u = √(2/π) (x + 0.044715 x³).
    ### BEGIN SOLUTION
    xp = array_module(x)
    c = math.sqrt(2 / math.pi)
    return 0.5 * x * (1 + xp.tanh(c * (x + 0.044715 * x * x * x)))
    ### END SOLUTION


def layer_norm(x, gain, bias, eps):
    """x, y: (..., H)   gain, bias: (H,), where x is, of its dtype   eps: a number

    Returns y, where x is and with x's dtype.
    """
    ### HINT Arrays know some things themselves: x.mean is a method of both libraries' arrays.
    ### HINT centred = x - mean, var = mean(centred²), both with keepdims=True; the root is xp's.
    ### HINT x.mean and the mean of the squares over the last axis, keepdims=True; eps goes inside the root.
    ### BEGIN SOLUTION
    xp = array_module(x)
    centred = x - x.mean(axis=-1, keepdims=True)
    var = (centred * centred).mean(axis=-1, keepdims=True)
    return gain * (centred / xp.sqrt(var + eps)) + bias
    ### END SOLUTION


# %% [markdown]
# ## Rows that are named twice
#
# The gradient of an embedding: a table of zeros, to whose row `rows[r]` the vector `updates[r]` is added. A word that
# occurs twice gets both. Make the table where rows and updates are, with the updates' dtype.

# %%
def scatter_add(shape, rows, updates):
    """shape: (V, H)   rows: (R,) int64   updates: (R, H)   Returns the table (V, H), where the updates are."""
    ### HINT table[rows] += updates reads each row once and writes it once. What becomes of a row that is named twice?
    ### HINT Both libraries have add.at(table, rows, updates), which adds every update.
    ### HINT Zeros of `shape` in the updates' dtype, from the library that array_module names; its add.at.
    ### BEGIN SOLUTION
    xp = array_module(updates)
    table = xp.zeros(shape, updates.dtype)
    xp.add.at(table, rows, updates)
    return table
    ### END SOLUTION


# %% [markdown]
# ## Back to the host
#
# Once in a while a number must be read, to be printed or stored. `to_host` gives a NumPy array, wherever x is; one of
# NumPy's may be returned as it is.
#
# `mean_loss` is for the log: the losses of the last steps, a list of single numbers (arrays of shape ()), as each step
# left them on the device. Return their mean as one number, and read from the device only once.

# %%
def to_host(x):
    """x: array of NumPy or CuPy   Returns a NumPy array."""
    ### HINT NumPy's arrays are there already; CuPy's have a method for it. np.asarray is not it.
    ### HINT CuPy: x.get(). NumPy: x itself.
    ### HINT if library(x) == "cupy": return x.get(); otherwise return x.
    ### BEGIN SOLUTION
    return x.get() if library(x) == "cupy" else x
    ### END SOLUTION


def mean_loss(losses):
    """losses: list of single numbers, all on the host or all on the device   Returns their mean, one number."""
    ### HINT Adding is work for the device. Only what you print has to be read.
    ### HINT Σ losses / number of losses is one array of shape () on the device; float() of that is one transfer.
    ### HINT Python's sum adds device arrays on the device. Divide there too; float() comes once, around everything.
    ### BEGIN SOLUTION
    return float(sum(losses) / len(losses))
    ### END SOLUTION


# %% [markdown]
# The last check compares your GELU, layer norm and `scatter_add` on the device with PyTorch's numbers.
#
# ## Question
#
# A training step takes 10 ms on a GPU. Somebody adds `print(float(loss))` to each step, four bytes to copy, and the
# step takes 14 ms. Where do the 4 ms go? Say what Python and the card each do during a step, with and without the line,
# and how one could still see a loss every step.
