"""A single number of NumPy's, and arrays of the pretended GPU."""

import numpy as np

from .. import pretended_gpu
from ..given import HELD, maker


@maker("a single number")
def single(number, kind="float32"):
    return np.dtype(kind).type(number)


@maker("an array of a file")
def mapped(size):
    """As np.load(..., mmap_mode="r") gives one: of a class derived from np.ndarray."""
    return np.zeros(size).view(np.memmap)


@maker("on the device")
def put(array, transfers=None):
    """The array on the device; it may be read so many times."""
    return pretended_gpu.put(array, transfers)


@maker("the same on the device")
def put_into(array, transfers=None):
    """Every time the same object, with these numbers, as a program that writes into its arrays has it."""
    return renewed(put(array, transfers))


def renewed(array):
    """The object that was made first, which from now on is this array"""
    one = HELD.setdefault("on the device", array)
    one.__dict__.update(array.__dict__)
    return one


@maker("numbers on the device")
def put_each(array, transfers=None):
    """[each number of the array alone on the device], which may together be read so many times"""
    return pretended_gpu.put_each(list(array), transfers)


@maker("there")
def there(descriptions, kind):
    """What a grader put there already, of one of the kinds above."""
    arrays = pretended_gpu.there(descriptions)
    if kind == "numbers on the device":
        return arrays
    return renewed(arrays[0]) if kind == "the same on the device" else arrays[0]
