"""What exercise 12 asks of an array besides its numbers: where it lives, and its dtype."""

from contextlib import contextmanager, suppress

import numpy as np

from ...compare import Wrong, cosine, same, shown
from ...given import Given
from ...pretended_gpu import pretending
from ...values import NotWritten, OnDevice, Stopped
from ..corners import guessing
from ..many_rows import RUNNING_SUM, beyond_16_bits

ROUGH = 0.9                                          # cosine between what is right and what nearly is
CAUSES = {
    "TransferError": "the formula must stay on the device: each .get(), float(), int(), bool() or if on an array of "
                     "it is a transfer that waits",
    "__array_ufunc__": "a function of np was given an array of the device; take the function of its own library, "
                       "xp = array_module(x)",
    "takes no array of the device": "take the function of the array's own library, xp = array_module(x)",
    "No module named 'cupy'": "cupy is not there on machines without a GPU: ask the array, and import nothing",
    "Implicit conversion": "np.asarray, np.array or another function of np was given an array of the device; use xp's",
    "zero-size array": "an array may have no entries: x has any shape; it has no largest then",
    "met one of the device": "an array was made by np (np.zeros, np.arange, ...) where xp was meant, or xp is not the "
                             "library of the function's argument",
}  # fmt: skip


ONCE = ("one reading is enough: each .get(), float(), int(), bool() or if on an array of the device is a transfer that "
        "waits")  # fmt: skip


@contextmanager
def explained(transfer=CAUSES["TransferError"]):
    """What stopped the function, with what that usually means. transfer: what a reading too much does"""
    with pretending():
        try:
            yield
        except Stopped as error:
            causes = CAUSES | {"TransferError": transfer}
            cause = next((cause for part, cause in causes.items() if part in str(error)), None)
            if cause is None:
                raise
            raise Wrong(str(error), cause) from error


def on_device(array, transfers=0):
    return Given.of("on the device", array, transfers)


def there(name, value):
    """The numbers of what must have stayed on the device."""
    if isinstance(value, OnDevice):
        return value.host
    kind = "a NumPy array" if isinstance(value, np.ndarray) else shown(value)
    raise Wrong(f"{name} is {kind}; x is on the device, so {name} must be, too",
                "it was copied to the host, or a return is missing")  # fmt: skip


def as_pytorch(yours, asked, stored, **laws):
    """Compare with PyTorch's numbers, on the device and on the host; a mistake names its function.

    asked: {function: its arguments}   laws: of a function's answer, for `same`
    """
    for name, args in asked.items():
        function, placed = getattr(yours, name), [on_device(a) if isinstance(a, np.ndarray) else a for a in args]
        try:
            with explained():
                answers = there(name, function(*placed)), here(name, function(*args))
            for answer in answers:
                same(f"{name} (PyTorch's numbers)", answer, stored[name], laws=laws.get(name, ()))
        except Wrong as error:
            raise Wrong(error.seen, error.cause, of=name) from error


def beyond_16_bits_there(scatter, right, given):
    """`beyond_16_bits` for a table that is made on the device. given: shape, rows, updates"""
    shape, rows, updates = given
    there_too = shape, on_device(rows), on_device(updates)
    with explained():
        beyond_16_bits("table", lambda: there("table", scatter(*there_too)), right(*given))


def compare_beside_large(scatter, right, given):
    """Compare the rows after row 0, whose updates are so large that a running sum loses the others.

    given: shape, rows, updates
    """
    table = here("table", scatter(*given))
    with guessing(RUNNING_SUM):
        same("rows after one of large numbers", table[1:], right(*given)[1:])


def here(name, value):
    if isinstance(value, OnDevice):
        raise Wrong(f"{name} is an array of the device; it must be one of NumPy's", "read it with .get()")
    return value


def both_live(yours):
    """From here on CuPy is there, as it is in a process that has used a GPU once."""
    with suppress(NotWritten, Stopped, Wrong):
        yours.library(on_device(np.zeros(1)))


def keeps_dtype(name, value, x):
    """The value, if its dtype is that of x."""
    dtype = getattr(value, "dtype", None)
    if dtype != x.dtype:
        cause = None
        if x.dtype == np.float32 and dtype == np.float64:
            cause = ("perhaps: a constant is a number of NumPy's (np.sqrt(2 / np.pi) is float64, and wins), or an "
                     "array is made without a dtype, or of whole numbers, which make float64 of float32; use Python's "
                     "numbers, as math.sqrt gives them, and x.dtype")  # fmt: skip
        elif dtype in (np.float16, np.float32):
            cause = f"something is made {dtype}, by astype or dtype=; take x.dtype"
        raise Wrong(f"{name} is {dtype or shown(value)}; x is {x.dtype}, so {name} must be, too", cause)
    return value


def compare_dtypes(name, function, arrays, others, right, start=0.0):
    """Raise Wrong unless the result has the dtype of the first array on both machines, and is roughly right.

    start: a part of the result that is an argument itself, such as the bias; only what is added to it is compared
    """
    for machine, moved, found in (("host", np.asarray, here), ("device", on_device, there)):
        value = found(f"{name} on the {machine}", function(*map(moved, arrays), *others))
        value = keeps_dtype(f"{name} on the {machine}", value, arrays[0])
        if np.shape(value) != right.shape or cosine(value - start, right - start) < ROUGH:
            raise Wrong(f"{name} on the {machine} has the dtype of x, but is far from right")
