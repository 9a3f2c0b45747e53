"""The two checks: of a forward/backward pair, and of a model with its losses.

A pair's output is contracted with a random upstream gradient, drawn here: there is no way to ask for ones.
(With ones, a softmax backward that returns zeros would pass.)
"""

import numpy as np

from ..backend import array_module, to_host
from ..model import PLAIN, pretraining_backward, pretraining_forward
from .compare import LIMITS, GradientError, Report, TensorResult, judge
from .contract import CheckedPair, arguments
from .diagnose import guess_shape
from .numeric import gradient, slope, takes_complex

NOT_COMPLEX = (
    "checked by central differences, for forward loses the imaginary part of a complex number "
    "(np.abs, np.var, np.linalg.norm and arrays made as float do)"
)


def check_pair(
    forward, backward, args, static=None, constants=(), name=None, entries=True, method="complex", seed=0
):
    """Compare backward's gradients with numeric ones.

    args       dict of arrays, in the order of forward's arguments
    static     dict of further keyword arguments
    constants  names of float arguments that have no gradient (a mask, say)
    entries    every entry of every tensor, or (False) one random direction per tensor and every entry
               only where a direction fails, to find the place
    method     "complex" (the complex step), or "central" for central differences
    """
    pair = CheckedPair(forward, backward, static or {}, name)
    args, tensors = arguments(pair.name, args, constants)
    rng = _own_rng(seed)

    y, cache = pair.forward(args)
    dy = array_module(y).asarray(rng.standard_normal(y.shape))
    gradients, broken = pair.gradients(args, tensors, y, cache, dy)

    def loss(moved):
        return (dy * pair.forward(args | moved)[0]).sum()

    report = _check(loss, tensors, gradients, entries, method, rng)
    report.case, report.seed = pair.name, seed
    if broken:                                       # numbers after that say little
        report.results, report.remark = [TensorResult.broken(*note) for note in broken] + report.results, ""
    return report


def check_model(
    config, batch, params, key=None, recompute=False, name="model", entries=True, method="complex", seed=0, pairs=PLAIN,
):  # fmt: skip
    """Compare every parameter's gradient of the total loss with numeric ones, in float64.

    pairs    the implementation whose gradient is checked; the numeric ones are always those of the plain model's loss
    """
    params = params.astype(np.float64)
    grads = params.zeros_like()
    ctx = pairs.context(pairs, config, params, batch.attention_mask, key, pairs.memory(params))
    _, cache = pretraining_forward(batch, ctx, recompute=recompute)
    pretraining_backward(cache, ctx, grads)

    def loss(tensors):
        ctx = PLAIN.context(PLAIN, config, tensors, batch.attention_mask, key)
        return pretraining_forward(batch, ctx)[0].total

    report = _check(loss, dict(params), grads, entries, method, _own_rng(seed))
    report.case, report.seed = name, seed
    return report


def _own_rng(seed):
    """Not `default_rng(seed)`, which the caller may have drawn x from: with dy = x, xᵀdy is symmetric and
    a transposed gradient passes."""
    return np.random.default_rng([seed, int.from_bytes(b"upstream")])


def _check(loss, tensors, gradients, entries, method, rng):
    directions = {key: array_module(x).asarray(rng.standard_normal(x.shape)) for key, x in tensors.items()}
    remark = ""
    if method == "complex" and not takes_complex(loss, tensors, directions):
        method, remark = "central", NOT_COMPLEX
    if not entries:
        results = [_along(loss, tensors, gradients, key, directions[key], method) for key in tensors]
        if all(result.passed for result in judge(results, LIMITS[method])):
            return Report("", method, entries, 0, results, remark)
    results = [_everywhere(loss, tensors, gradients, key, method) for key in tensors]
    return Report("", method, True, 0, judge(results, LIMITS[method]), remark)


def _along(loss, tensors, gradients, key, direction, method):
    if broken := _misshapen(tensors, gradients, key):
        return broken
    parts = gradients[key] * direction
    expected = np.asarray(slope(loss, tensors, {key: direction}, method))
    return TensorResult(_label(key), np.asarray(to_host(parts.sum())), expected, float(abs(parts).sum()))


def _everywhere(loss, tensors, gradients, key, method):
    if broken := _misshapen(tensors, gradients, key):
        return broken
    return TensorResult(_label(key), to_host(gradients[key]), gradient(loss, tensors, key, method))


def _label(key):
    return key if "." in key else f"d{key}"


def _misshapen(tensors, gradients, key):
    """A result for a gradient that is none, or None for one that can be compared."""
    yours, x = gradients[key], tensors[key]
    if yours is None or not hasattr(yours, "dtype"):
        value = "None" if yours is None else f"a {type(yours).__name__}"
        return TensorResult.broken(_label(key), f"is {value}; it must be an array of shape {x.shape}")
    if yours.shape != x.shape:
        note = f"has shape {yours.shape}; it must be {x.shape}"
        shapes = {other: getattr(g, "shape", None) for other, g in gradients.items() if other != key}
        if cause := guess_shape(yours.shape, x.shape, shapes):
            note += f" (looks like: {cause})"
        return TensorResult.broken(_label(key), note)
    if yours.dtype != x.dtype:
        return TensorResult.broken(_label(key), f"has dtype {yours.dtype}; it must be {x.dtype}, its tensor's")
    return None


__all__ = ["GradientError", "check_model", "check_pair"]
