"""Gradients without calculus: what does the loss do when one number moves?

    complex step          g = Im f(x + i h) / h                                       h = 1e-30
    central differences   g = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12h    h = 1e-4

A difference subtracts nearly equal numbers and loses digits; about ten are left. A complex step has nothing
to subtract: f(x + i h) = f(x) + i h f'(x) + O(h²), the derivative rides in the imaginary part, exact to the
last digits (Squire & Trapp, 1998). It needs a function made of +, *, exp, tanh and the like. np.abs, np.var
and np.linalg.norm throw the imaginary part away; `not_complex` finds out.

`loss` takes a dict of float64 arrays and returns a number; `tensors` is such a dict.
"""

import warnings

import numpy as np

COMPLEX_STEP = 1e-30
REAL_STEP = 1e-4
LOST = ("forward loses the imaginary part of a complex number "
        "(np.abs, np.var, np.linalg.norm and arrays made as float do)")


def slope(loss, tensors, direction, method):
    """The derivative of the loss along a direction: a dict of arrays, absent names standing still."""

    def moved(step):
        return loss({name: x + step * direction.get(name, 0.0) for name, x in tensors.items()})

    if method == "complex":
        return float(moved(1j * COMPLEX_STEP).imag) / COMPLEX_STEP
    if method != "central":
        raise ValueError(f"method {method!r} is unknown: use 'complex' or 'central'")
    h = REAL_STEP
    near = float(moved(h)) - float(moved(-h))
    far = float(moved(2 * h)) - float(moved(-2 * h))
    return (8 * near - far) / (12 * h)


def gradient(loss, tensors, name, method):
    """The derivative with respect to every entry of one tensor."""
    result = np.zeros(tensors[name].shape)
    for index in np.ndindex(result.shape):
        one_entry = np.zeros(result.shape)
        one_entry[index] = 1.0
        result[index] = slope(loss, tensors, {name: one_entry}, method)
    return result


def not_complex(loss, tensors, direction):
    """Why the complex step cannot be used; "" if both methods see the same slope."""
    length = sum(float((part * part).sum()) for part in direction.values()) ** 0.5
    direction = {name: part / length for name, part in direction.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)     # a complex number put into a float array
        try:
            ours = slope(loss, tensors, direction, "complex")
        except TypeError as error:
            return f"forward takes no complex numbers ({str(error).partition(', ')[0]})"
        except np.exceptions.ComplexWarning:
            return LOST
    theirs = slope(loss, tensors, direction, "central")
    return "" if abs(ours - theirs) <= 1e-3 * max(abs(ours), abs(theirs)) + 1e-9 else LOST
