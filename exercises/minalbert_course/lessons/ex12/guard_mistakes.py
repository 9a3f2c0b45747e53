"""The right answers of exercise 12's variant, and what known mistakes make."""

import numpy as np

from minalbert.backend import scatter_add
from minalbert.layers import gelu_forward

from .device_mistakes import different


def silu(x):
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x))


def silu_mistakes(x):
    with np.errstate(all="ignore"):
        found = {
            "e^x stands where e^(-x) must": x / (1 + np.exp(x)),
            "x is left out: this is the sigmoid": 1 / (1 + np.exp(-x)),
            "the 1 is left out": x / np.exp(-x),
            "multiplied by 1 + e^(-x), where it must be divided": x * (1 + np.exp(-x)),
            "1 - e^(-x) stands where 1 + e^(-x) must": x / (1 - np.exp(-x)),
            "e^(-1.702 x), as in an approximation of GELU": x / (1 + np.exp(-1.702 * x)),
            "GELU": gelu_forward(x)[0],
            "ReLU": np.maximum(x, 0),
            "x is returned as it was": x,
            "e^(-|x|) stands where e^(-x) must": x / (1 + np.exp(-abs(x))),
            "x tanh(x)": x * np.tanh(x),
        }
        for most in (10, 20, 30, 50, 60, 80, 88, 100, 500, 700, 709):
            cut = x / (1 + np.exp(-np.clip(x, -most, most)))
            found[f"x is cut off at -{most} in the exponential, so that y is not 0 far below zero"] = cut
    return {says: answer for says, answer in found.items() if np.isfinite(answer).all()}


def guarded_step(w, g, rate):
    return w - rate * g if np.isfinite(g).all() else w


def guard_mistakes(w, g, rate):
    finite, largest = np.isfinite(g), np.finfo(g.dtype).max
    mended = np.where(finite, g, 0.0)
    bare = w - rate * mended
    found = ({"the largest number of a dtype is taken for infinite": w} if (abs(g) == largest).any() else {}) | {
        "the step is added; it must be subtracted": w + rate * g,
        "whether the sum of g is finite is asked; it may be infinite where no entry is":
            w if not np.isfinite(g.sum()) else w - rate * g,
        "no step is made": w,
        "weights of 0 stay 0; they are numbers like others": np.where(w == 0, w, guarded_step(w, g, rate)),
        "the rate is left out": w - g,
        "the gradient is divided by the rate": w - g / rate,
        "only the entries that are not finite are left out; the whole step must be": bare,
        "infinities pass: not being a NaN is not yet being finite": w if np.isnan(g).any() else w - rate * g,
        "NaNs pass": w if np.isinf(g).any() else w - rate * g,
        "where a gradient is not finite, w is made 0": 0 * w,
        "rows that are not finite are left out; the whole step must be":
            np.where(finite.all(axis=-1, keepdims=True), bare, w),
        "columns that are not finite are left out; the whole step must be": np.where(finite.all(axis=0), bare, w),
        "the step is left out only where no entry is finite": bare if finite.any() else w,
        "the step itself is returned, without w": rate * mended,
    }  # fmt: skip
    right = guarded_step(w, g, rate)
    return {says: answer for says, answer in found.items()
            if np.isfinite(answer).all() and not np.array_equal(answer, right)}  # fmt: skip


def scatter_mean(shape, rows, updates):
    counts = np.bincount(rows, minlength=shape[0]).astype(updates.dtype)[:, None]
    return scatter_add(shape, rows, updates) / np.maximum(counts, 1)


def mean_mistakes(shape, rows, updates):
    last, total, right = np.zeros(shape), scatter_add(shape, rows, updates), scatter_mean(shape, rows, updates)
    last[rows] = updates
    counts = np.bincount(rows, minlength=shape[0])[:, None]
    of_some = np.bincount(rows, (updates != 0).any(axis=1), minlength=shape[0])[:, None]
    wrapped = counts.astype(np.int8)
    of_bytes = {"the number of a row's updates has eight bits, and ends at 127": total / np.maximum(wrapped, 1)}
    return (of_bytes if (wrapped != counts).any() else {}) | {
        "the updates of a row are added, and not divided by their number": total,
        "a row that is named twice has only its last update: table[rows] += reads and writes each row once; "
        "add.at adds every update": last,
        "of a row's updates only the last is there, divided by their number": last / np.maximum(counts, 1),
        "divided by the number of all updates; each row has a number of its own": total / len(rows),
        "divided by one more than the number of a row's updates": total / (counts + 1),
        "divided by the number of rows": total / shape[0],
        "divided by the largest of the numbers": total / counts.max(),
        "updates of zeros are not counted": total / np.maximum(of_some, 1),
        "equal updates of a row count once": scatter_mean(shape, *different(rows, updates)),
        "divided by the number twice": right / np.maximum(counts, 1),
        "row 0 is left out; it is a row like others": right * (np.arange(shape[0]) > 0)[:, None],
        "the rows that nobody names have the mean of all updates; they must be 0":
            np.where(counts > 0, right, updates.mean(axis=0)),
    }  # fmt: skip


def overflown(losses):
    with np.errstate(all="ignore"):
        bad = np.flatnonzero(~np.isfinite(np.cumsum(losses)))
    return int(bad[0]) if len(bad) else None


def mistaken_places(losses):
    """{mistake: what it gives}"""
    bad = np.flatnonzero(~np.isfinite(losses)).tolist()
    nans, infinite = (np.flatnonzero(of(losses)).tolist() for of in (np.isnan, np.isinf))
    first = {"": bad, "nan": nans, "inf": infinite}
    first = {kind: places[0] if places else None for kind, places in first.items()}
    return {
        "infinite losses pass: not being a NaN is not yet being finite": first["nan"],
        "NaNs pass: a comparison with one is never true": first["inf"],
        "the last bad index; the first is asked for": bad[-1] if bad else None,
        "the index is counted from 1": first[""] + 1 if bad else None,
        "0 where all are finite; None is asked for": bad[0] if bad else 0,
        "-1 where all are finite; None is asked for": bad[0] if bad else -1,
        "a first bad loss at 0 is taken for none: 0 is a number like others": first[""] or None,
        "whether there is one; its index is asked for": bool(bad),
        "sums of the losses are looked at, which may be infinite where no loss is": overflown(losses),
        "how many are bad; the first index is asked for": len(bad),
        "the number of losses where all are finite; None is asked for": bad[0] if bad else len(losses),
    }
