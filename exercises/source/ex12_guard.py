# %% [markdown]
# # Exercise 12: the same code on two machines, and no question to the device
#
# CuPy is NumPy on a GPU: the same functions under the same names, on arrays that live in the card's memory. One source
# serves both, if each function asks its argument where it lives and takes that library's functions:
#
#     xp = array_module(x)            # numpy or cupy
#     y = xp.tanh(x)
#
# An array of the device meets only arrays of the device and Python's numbers. Copying to the host (`x.get()`, and also
# `float(x)`, `int(x)`, `bool(x)`) is slow, and makes Python wait until the card has done all that was asked of it
# before. An `if` on an array is such a copy, too. So code for the device does not ask: it computes both answers, and
# the card takes one of them, with `xp.where`, `xp.maximum` and their likes.
#
# You need no GPU. The checks hand your functions arrays of a pretended one, NumPy behind CuPy's manners: `x.get()`
# is the only way to NumPy, and where a formula has no business on the host, `.get()` and its likes raise an error.
# It is stricter than CuPy in one thing: NumPy's functions always refuse its arrays (CuPy lets some of them pass). It
# has NumPy's functions and methods that compute with arrays, also `linalg` and the ufuncs' own methods (`add.at`);
# there is no `cupyx`. Wherever an array of the device exists, its library can be found as `sys.modules["cupy"]`; an
# `import cupy` at the top of this file would stop it on machines without. With a real GPU, try your functions on
# `cupy.asarray(x)`, too.

# %%
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
# ## A formula
#
# SiLU, also called swish, is cheaper than GELU and much like it: $y = x / (1 + e^{-x})$. Where $x$ is far below zero,
# $e^{-x}$ may be infinite; y is 0 then, as it must be. The result is where x is, has x's dtype, and takes no transfer.
# Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not write into arguments.

# %%
def silu(x):
    """x, y: any shape, host or device   Returns y, where x is and with x's dtype."""
    ### HINT Which of the operations are operators, that need no library, and which one is a function? Of which library?
    ### HINT y = x / (1 + e^(-x)). Only the exponential is the library's, which `array_module` finds.
    ### HINT Ask array_module for x's library; its exp of minus x, plus 1; x divided by that.
    ### BEGIN SOLUTION
    xp = array_module(x)
    return x / (1 + xp.exp(-x))
    ### END SOLUTION


# %% [markdown]
# ## A step that may be left out
#
# In float16 a gradient overflows now and then. One infinity or NaN in it would spoil the weights for ever, so such a
# step is left out:
#
# $$w' = \begin{cases} w - \text{rate}\;g & \text{if all of } g \text{ is finite} \\ w & \text{otherwise, all of it}
# \end{cases}$$
#
# An `if` would read from the device in every step. Compute the step in any case, and let the device choose.

# %%
def guarded_step(w, g, rate):
    """w, g: arrays of one shape and dtype, both on the host or both on the device   rate: a Python number

    Returns the new w, where w is and with w's dtype.
    """
    ### HINT The question and both answers can be arrays of the device. What does 0 times NaN give?
    ### HINT ok = are all of g finite: one truth value, on the device. w' = ok ? w - rate g : w, chosen, not multiplied.
    ### HINT isfinite, all and where are functions of the library; where takes the truth value and both answers.
    ### BEGIN SOLUTION
    xp = array_module(w)
    finite = xp.isfinite(g).all()
    return xp.where(finite, w - rate * g, w)
    ### END SOLUTION


# %% [markdown]
# ## The mean of rows that are named several times
#
# A table of zeros, in whose row v stands the mean of those `updates[r]` with `rows[r]` = v. A row that nobody names
# stays 0, without an `if` and without a division by 0. Make the table where rows and updates are, with the
# updates' dtype; you may add and count in that dtype, too.

# %%
def scatter_mean(shape, rows, updates):
    """shape: (V, H)   rows: (R,) int64   updates: (R, H)   Returns the table (V, H), where the updates are."""
    ### HINT Two sums for each row: of the updates, and of ones. What must the second be where it is 0, and its dtype?
    ### HINT add.at(table, rows, updates) adds every update. table[v] = sum[v] / max(count[v], 1).
    ### HINT add.at twice, the second time ones into a column (V, 1) of the updates' dtype; `maximum` keeps it from 0.
    ### BEGIN SOLUTION
    xp = array_module(updates)
    table, counts = xp.zeros(shape, updates.dtype), xp.zeros((shape[0], 1), updates.dtype)
    xp.add.at(table, rows, updates)
    xp.add.at(counts, rows, 1)
    return table / xp.maximum(counts, 1)
    ### END SOLUTION


# %% [markdown]
# ## Back to the host
#
# Once in a while something must be read. `to_host` gives a NumPy array, wherever x is; one of
# NumPy's may be returned as it is.
#
# `first_bad` looks back at the last steps: `losses` is a list of single numbers (arrays of shape ()), as each step left
# them on the device. Which step was the first whose loss is infinite or no number? Read from the device only once.

# %%
def to_host(x):
    """x: array of NumPy or CuPy   Returns a NumPy array."""
    ### HINT NumPy's arrays are there already; CuPy's have a method for it. np.asarray is not it.
    ### HINT CuPy: x.get(). NumPy: x itself.
    ### HINT if library(x) == "cupy": return x.get(); otherwise return x.
    ### BEGIN SOLUTION
    return x.get() if library(x) == "cupy" else x
    ### END SOLUTION


def first_bad(losses):
    """losses: list of single numbers, all on the host or all on the device

    Returns the index of the first that is not finite, a whole number counted from 0, or None.
    """
    ### HINT Asking each loss is a transfer for each. Can the device bring all answers together before one is read?
    ### HINT finite = isfinite of all losses as one array, on the device; one transfer of that. The rest is the host's.
    ### HINT `stack` makes one array of the list, of the losses' own library; to_host of isfinite; then Python's search.
    ### BEGIN SOLUTION
    xp = array_module(losses[0])
    finite = to_host(xp.isfinite(xp.stack(losses))).tolist()
    return finite.index(False) if False in finite else None
    ### END SOLUTION


# %% [markdown]
# The last check compares your SiLU and `scatter_mean` on the device with PyTorch's numbers.
#
# ## Question
#
# `guarded_step` computes a step even where it is not used, and an `if` would not. Why is it faster all the same? Say
# what Python and the card each do in both forms. Then: the program also wants to halve the scale of its loss after a
# step that was left out, and to stop after ten in a row. How can it, with few transfers?
