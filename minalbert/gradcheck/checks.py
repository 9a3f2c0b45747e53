"""The two checks: of a forward/backward pair, and of a model with its losses.

A pair's output is contracted with a random upstream gradient, drawn here: there is no way to ask for ones.
(With ones, a softmax backward that returns zeros would pass.)
"""

import numpy as np

from ..backend import array_module, to_host
from ..model.pretraining import pretraining_backward, pretraining_forward
from .compare import LIMITS, Report, TensorResult, judge
from .diagnose import guess_shape
from .numeric import gradient, slope


def check_pair(
    forward, backward, args, static=None, constants=(), name=None, entries=True, method="complex", seed=0
):
    """Compare backward's gradients with numeric ones.

    args       dict of arrays, in the order of forward's arguments
    static     dict of further keyword arguments
    constants  names of float arguments that have no gradient (a mask, say)
    entries    every entry of every tensor, or (False) one random direction per tensor and every entry
               only where a direction fails, to find the place
    """
    name = name or forward.__name__.removesuffix("_forward")
    static = static or {}
    tensors = {key: x.astype(np.float64) for key, x in args.items() if x.dtype.kind == "f" and key not in constants}
    args = args | tensors

    rng = _own_rng(seed)
    before = {key: x.copy() for key, x in args.items()}
    y, cache = forward(*args.values(), **static)
    dy = array_module(y).asarray(rng.standard_normal(y.shape))
    gradients = dict(zip(args, backward(dy, cache), strict=True))

    def loss(moved):
        return (dy * forward(*(args | moved).values(), **static)[0]).sum()

    results = _compare(loss, tensors, gradients, entries, method, rng)
    results += _contract(backward, cache, dy, args, before, gradients, tensors)
    report = Report(name, method, entries, seed, judge(results, LIMITS[method]))
    if report.passed or entries:
        return report
    return check_pair(forward, backward, args, static, constants, name, True, method, seed)


def _own_rng(seed):
    """Not `default_rng(seed)`, which the caller may have drawn x from: with dy = x, xᵀdy is symmetric and
    a transposed gradient passes."""
    return np.random.default_rng([seed, int.from_bytes(b"upstream")])


def _contract(backward, cache, dy, args, before, gradients, tensors):
    """The promises beside the numbers; a result only for each one that is broken."""
    broken = {}
    for key, x in args.items():
        if not (x == before[key]).all():
            broken[key] = "the argument was modified: neither forward nor backward may write into it"
        if key not in tensors and gradients[key] is not None:
            broken[key] = "has no gradient: return None in its place"
    again = backward(dy, cache)
    for key, first, second in zip(args, gradients.values(), again, strict=True):
        if key in tensors and key not in broken and first is not None and not (first == second).all():
            broken[key] = "backward gave another gradient when called again with the same cache"
    nothing = np.zeros(())
    return [TensorResult(f"d{key}", nothing, nothing, notes=[note]) for key, note in broken.items()]


def check_model(
    config, batch, params, stream=None, recompute=False, name="model", entries=True, method="complex", seed=0
):
    """Compare every parameter's gradient of the total loss with numeric ones, in float64."""
    params = params.astype(np.float64)
    grads = params.zeros_like()
    _, cache = pretraining_forward(params, batch, config, stream, recompute)
    pretraining_backward(cache, grads)

    def loss(tensors):
        return pretraining_forward(tensors, batch, config, stream)[0].total

    rng = _own_rng(seed)
    results = _compare(loss, dict(params), grads, entries, method, rng)
    report = Report(name, method, entries, seed, judge(results, LIMITS[method]))
    if report.passed or entries:
        return report
    return check_model(config, batch, params, stream, recompute, name, True, method, seed)


def _compare(loss, tensors, gradients, entries, method, rng):
    """A result per tensor, by name, so that none can be left out or take another's place."""
    results = []
    for key, x in tensors.items():
        yours = gradients[key]
        if yours is None or yours.shape != x.shape:
            results.append(_misshapen(key, yours, x))
            continue
        if entries:
            expected = gradient(loss, tensors, key, method)
            yours = to_host(yours)
        else:
            direction = array_module(x).asarray(rng.standard_normal(x.shape))
            expected = np.asarray(slope(loss, tensors, {key: direction}, method))
            yours = np.asarray(to_host((yours * direction).sum()))
        results.append(TensorResult(_label(key), yours, expected))
    return results


def _label(key):
    return key if "." in key else f"d{key}"


def _misshapen(key, yours, x):
    if yours is None:
        note = f"is None; it must be an array of shape {x.shape}"
    else:
        note = f"has shape {yours.shape}; it must be {x.shape}"
        note += f" (looks like: {cause})" if (cause := guess_shape(yours.shape, x.shape)) else ""
    nothing = np.zeros(())
    return TensorResult(_label(key), nothing, nothing, notes=[note])
