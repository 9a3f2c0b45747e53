"""Gradients without calculus: what does the loss do when one number moves?

    complex step          g = Im f(x + i h) / h             h = 1e-30, exact to the last digits
    central differences   g = (f(x + h) - f(x - h)) / 2h     h = 1e-5, right to about 1e-9

A central difference subtracts two nearly equal numbers and loses half the digits. A complex step has
nothing to subtract: f(x + i h) = f(x) + i h f'(x) + O(h²), the derivative rides in the imaginary part
(Squire & Trapp, 1998). It needs a function made of +, *, exp, tanh and the like, in complex arithmetic.

`loss` takes a dict of float64 arrays and returns a number; `tensors` is such a dict.
"""

import warnings
from contextlib import contextmanager

import numpy as np

COMPLEX_STEP = 1e-30
REAL_STEP = 1e-5


@contextmanager
def imaginary_parts_kept():
    """A complex number put into a float array loses its derivative: make NumPy's warning an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        yield


def slope(loss, tensors, direction, method):
    """The derivative of the loss along a direction: a dict of arrays, absent names standing still."""
    if method == "complex":
        step = 1j * COMPLEX_STEP
        moved = {name: x + step * direction.get(name, 0.0) for name, x in tensors.items()}
        with imaginary_parts_kept():
            return float(loss(moved).imag) / COMPLEX_STEP
    if method != "central":
        raise ValueError(f"method {method!r} is unknown: use 'complex' or 'central'")
    ahead = {name: x + REAL_STEP * direction.get(name, 0.0) for name, x in tensors.items()}
    behind = {name: x - REAL_STEP * direction.get(name, 0.0) for name, x in tensors.items()}
    return (float(loss(ahead)) - float(loss(behind))) / (2 * REAL_STEP)


def gradient(loss, tensors, name, method):
    """The derivative with respect to every entry of one tensor."""
    result = np.zeros(tensors[name].shape)
    for index in np.ndindex(result.shape):
        one_entry = np.zeros(result.shape)
        one_entry[index] = 1.0
        result[index] = slope(loss, tensors, {name: one_entry}, method)
    return result
