"""What known mistakes make of exercise 12's functions."""

import math

import numpy as np

from minalbert.backend import scatter_add
from minalbert.gradcheck.diagnose import Law
from minalbert.layers import gelu_erf_forward


def gelu_mistakes(x):
    c, cubic = math.sqrt(2 / math.pi), x + 0.044715 * x**3

    def of(inner):
        return 0.5 * x * (1 + np.tanh(inner))

    right = of(c * cubic)
    return {
        "the erf form; the tanh form is asked for": gelu_erf_forward(x)[0],
        "the sigmoid form x / (1 + exp(-1.702 x)); the tanh form is asked for": x / (1 + np.exp(-1.702 * x)),
        "the ½ is missing": 2 * right,
        "the ½ is there twice": right / 2,
        "x² stands where x³ must": of(c * (x + 0.044715 * x**2)),
        "x stands where x³ must": of(c * (x + 0.044715 * x)),
        "the cubic term is left out": of(c * x),
        "x is left out beside the cubic term": of(c * 0.044715 * x**3),
        "the cubic term is subtracted": of(c * (x - 0.044715 * x**3)),
        "0.044715 is left out": of(c * (x + x**3)),
        "0.44715 stands where 0.044715 must": of(c * (x + 0.44715 * x**3)),
        "√(2/π) is left out": of(cubic),
        "2/π stands where √(2/π) must": of(cubic * 2 / math.pi),
        "√(π/2) stands where √(2/π) must": of(cubic * math.sqrt(math.pi / 2)),
        "√(2π) stands where √(2/π) must": of(cubic * math.sqrt(2 * math.pi)),
        "√2/π stands where √(2/π) must": of(cubic * math.sqrt(2) / math.pi),
        "√(2/π) multiplies x alone": of(c * x + 0.044715 * x**3),
        "√(2/π) multiplies the cubic term alone": of(x + c * 0.044715 * x**3),
        "x is left out before the bracket": 0.5 * (1 + np.tanh(c * cubic)),
        "the 1 is left out": 0.5 * x * np.tanh(c * cubic),
        "1 - tanh; it must be 1 + tanh": 0.5 * x * (1 - np.tanh(c * cubic)),
        "tanh is left out": 0.5 * x * (1 + c * cubic),
        "x is returned as it was": x,
        "ReLU": np.maximum(x, 0),
        "√2 stands where √(2/π) must": of(cubic * math.sqrt(2)),
        "√(1/π) stands where √(2/π) must": of(cubic * math.sqrt(1 / math.pi)),
        "x⁴ stands where x³ must": of(c * (x + 0.044715 * x**4)),
        "the bracket is squared": of(c * cubic**2),
        "1 + tanh is squared": 0.5 * x * (1 + np.tanh(c * cubic)) ** 2,
        "½ x is divided by 1 + tanh; it must be multiplied": 0.5 * x / (1 + np.tanh(c * cubic)),
    } | other_constants(x)


def other_constants(x):
    """One of the formula's constants, twice or half as large, off by one, or by a thousandth."""
    right, found = {"½": 0.5, "1": 1.0, "√(2/π)": math.sqrt(2 / math.pi), "0.044715": 0.044715}, {}
    for name, value in right.items():
        for other in (2 * value, value / 2, value + 1, value - 1, 1.001 * value, 0.999 * value):
            half, one, c, cube = (right | {name: other}).values()
            found[f"{other:.6g} stands where {name} must"] = half * x * (one + np.tanh(c * (x + cube * x**3)))
    return found


def norm_of_squares(x, gain, bias, eps):
    mean = x.mean(axis=-1, keepdims=True)
    var = (x * x).mean(axis=-1, keepdims=True) - mean * mean
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(gain * ((x - mean) / np.sqrt(var + eps)) + bias)


def norm_mistakes(x, gain, bias, eps):
    centred, H = x - x.mean(axis=-1, keepdims=True), x.shape[-1]
    var = (centred * centred).mean(axis=-1, keepdims=True)
    root = np.sqrt(var + eps)
    with np.errstate(all="ignore"):
        found = {
            "eps is added to the root; it belongs under it": gain * centred / (np.sqrt(var) + eps) + bias,
            "eps is left out": gain * centred / np.sqrt(var) + bias,
            "eps is not the one that is given, but 1e-12": gain * centred / np.sqrt(var + 1e-12) + bias,
            "eps is not the one that is given, but 1e-5": gain * centred / np.sqrt(var + 1e-5) + bias,
            "eps is squared": gain * centred / np.sqrt(var + eps**2) + bias,
            "eps is subtracted": gain * centred / np.sqrt(var - eps) + bias,
            "the variance is divided by H - 1; by H is right":
                gain * centred / np.sqrt(var * H / max(H - 1, 1) + eps) + bias,
            "the sum stands where the variance's mean must": gain * centred / np.sqrt(var * H + eps) + bias,
            "the gain is left out": centred / root + bias,
            "the bias is left out": gain * centred / root,
            "gain and bias are left out": centred / root,
            "the bias is subtracted": gain * centred / root - bias,
            "the bias is multiplied by the gain, too": gain * (centred / root + bias),
            "gain and bias have changed places": bias * centred / root + gain,
            "1 + gain stands where the gain must": (1 + gain) * centred / root + bias,
            "the gain divides; it must multiply": centred / root / gain + bias,
            "the gain is divided by the rest; it must be multiplied": gain / (centred / root) + bias,
            "the mean that is subtracted is that of the whole array":
                gain * (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean(axis=-1, keepdims=True) + eps) + bias,
            "the variance is that of the whole array": gain * centred / np.sqrt((centred**2).mean() + eps) + bias,
            "the mean is not subtracted": gain * x / root + bias,
            "the mean is added; it must be subtracted": gain * (2 * x - centred) / root + bias,
            "the mean is not subtracted, in the variance neither: this is RMS norm":
                gain * x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + bias,
            "the mean is not subtracted in the variance":
                gain * centred / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) + bias,
            "the root is missing: divided by the variance": gain * centred / (var + eps) + bias,
            "it is not divided by the root": gain * centred + bias,
            "multiplied by the root; it must be divided": gain * centred * root + bias,
            "mean(|x - mean|) stands where the root of the variance must":
                gain * centred / (abs(centred).mean(axis=-1, keepdims=True) + eps) + bias,
            "mean and variance are those of the whole array": gain * (x - x.mean()) / np.sqrt(x.var() + eps) + bias,
            "the gain is squared": gain**2 * centred / root + bias,
        }  # fmt: skip
        if x.ndim > 2:
            own = gain * centred / np.sqrt(var * H / x.shape[1] + eps) + bias
            found["the variance is divided by x.shape[1]; the last axis is x.shape[-1] long"] = own
        for axis in range(x.ndim - 1):
            own = gain * (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps) + bias
            found[f"mean and variance run over axis {axis}; they must run over the last"] = own
        return {says: answer for says, answer in found.items() if np.isfinite(answer).all()}


def scatter_mistakes(shape, rows, updates):
    last, first = np.zeros(shape), np.zeros(shape)
    last[rows] = updates
    first[rows[::-1]] = updates[::-1]
    right = scatter_add(shape, rows, updates)
    counts = np.bincount(rows, minlength=shape[0])[:, None]
    return {
        "a row that is named twice has only its last update: table[rows] += reads and writes each row once; "
        "add.at adds every update": last,
        "a row that is named twice has only its first update; each must be added": first,
        "the updates of a row are averaged; they must be added": right / np.maximum(counts, 1),
        "row 0 is left out; it is a row like others": right * (np.arange(shape[0]) > 0)[:, None],
        "the last update is left out": scatter_add(shape, rows[:-1], updates[:-1]),
        "the first update is left out": scatter_add(shape, rows[1:], updates[1:]),
        "the table begins with ones": right + 1,
        "the updates are subtracted": -right,
        "each update goes to the row after its own": scatter_add(shape, (rows + 1) % shape[0], updates),
        "equal updates of a row count once": scatter_add(shape, *different(rows, updates)),
    }


def different(rows, updates):
    """The same rows and updates, where equal updates of a row stand once."""
    _, first = np.unique(np.column_stack([rows, updates]), axis=0, return_index=True)
    return rows[first], updates[first]


def row_laws(rows, right, several):
    """What each row must be, by how often `rows` names it. several: what is made of several updates"""
    counts = np.bincount(rows, minlength=len(right))
    kinds = {
        "a row that is named once must be its update, unchanged": counts == 1,
        f"a row that is named several times must be the {several} of its updates": counts > 1,
        "a row that nobody names must be 0": counts == 0,
    }
    return [Law(says, lambda table, kind=kind: (table - right)[kind]) for says, kind in kinds.items() if kind.any()]


def mean_mistakes(losses):
    n = len(losses)
    found = {
        "the sum of the losses, not their mean": losses.sum(),
        "the last loss": losses[-1],
        "the first loss": losses[0],
        "the largest loss": losses.max(),
        "the smallest loss": losses.min(),
        "the last loss is left out": losses[:-1].mean(),
        "the first loss is left out": losses[1:].mean(),
        "the first loss is left out of the sum": losses[1:].sum() / n,
        "the last loss is left out of the sum": losses[:-1].sum() / n,
        "divided by one less than their number": losses.sum() / max(n - 1, 1),
        "divided by one more than their number": losses.sum() / (n + 1),
        "the median": np.median(losses),
        "equal losses count once": np.unique(losses).mean(),
        "losses of 0 are not counted": losses.sum() / max(np.count_nonzero(losses), 1),
        "the number of losses": n,
        **{f"only the last {k} losses are used": losses[-k:].mean() for k in range(2, n)},
        **{f"only the first {k} losses are used": losses[:k].mean() for k in range(2, n)},
        **{f"divided by {k}, not by the number of losses": losses.sum() / k for k in range(1, 40)},
        "the mean of the first and the last": (losses[0] + losses[-1]) / 2,
        "cut to a whole number": np.floor(losses.mean()),
    }
    return {says: [answer] for says, answer in found.items()}
