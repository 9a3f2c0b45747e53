"""A single number of NumPy's, and arrays of the pretended GPU."""

import numpy as np

from .. import pretended_gpu
from ..given import maker


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


@maker("numbers on the device")
def put_each(array, transfers=None):
    """[each number of the array alone on the device], which may together be read so many times"""
    return pretended_gpu.put_each(list(array), transfers)


@maker("there")
def there(descriptions, alone):
    """What a grader put there already: a list, or one alone."""
    arrays = pretended_gpu.there(descriptions)
    return arrays[0] if alone else arrays
