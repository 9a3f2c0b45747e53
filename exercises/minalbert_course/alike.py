"""Compare an answer with the one before, up to rounding."""

import numpy as np

from .copying import identical
from .values import OnDevice

CLOSE = 1e-6                                         # relative: sums may be rounded in another way


def alike(before, after, close=CLOSE, size=None):
    """Equal, up to rounding; objects of other kinds are taken to be. size: what rounding is relative to"""
    if isinstance(before, np.ndarray) and isinstance(after, np.ndarray) and identical(before, after):
        return True
    if isinstance(before, OnDevice) and isinstance(after, OnDevice):
        return alike(before.host, after.host, close, size)
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(
            alike(before[key], after[key], close, size) for key in before)
    if isinstance(before, tuple | list) and isinstance(after, tuple | list):
        return len(before) == len(after) and all(
            alike(*pair, close, size) for pair in zip(before, after, strict=True))
    if isinstance(before, str | None) or isinstance(after, str | None):
        return not isinstance(before, np.ndarray) and not isinstance(after, np.ndarray) and before == after
    try:
        before, after = np.asarray(before), np.asarray(after)
    except ValueError:                               # an object of some kind
        return not isinstance(before, np.ndarray) and not isinstance(after, np.ndarray)
    if "O" in (before.dtype.kind, after.dtype.kind) or before.shape != after.shape:
        return before.shape == after.shape
    if before.dtype.kind not in "fc":
        return bool((before == after).all())
    if (before == after).all():
        return True
    if size is None:
        size = np.abs(before).max(initial=0.0, where=np.isfinite(before))
    with np.errstate(invalid="ignore"):              # of infinities, which are equal or not
        near = np.abs(after - before) <= close * size
    return bool((near | (before == after) | ((before != before) & (after != after))).all())


def largest(value):
    """The size of the largest among the floats and the arrays of floats or complex numbers."""
    if isinstance(value, dict):
        return max(map(largest, value.values()), default=0.0)
    if type(value) in (tuple, list):
        return max(map(largest, value), default=0.0)
    if isinstance(value, float):
        return abs(value) if np.isfinite(value) else 0.0
    is_float = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc"
    return float(np.abs(value).max(initial=0.0, where=np.isfinite(value))) if is_float else 0.0
