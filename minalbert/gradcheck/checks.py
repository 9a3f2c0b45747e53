"""The two checks: of a forward/backward pair, and of a model with its losses.

A pair's output is contracted with a random upstream gradient, drawn here: there is no way to ask for ones.
(With ones, a softmax backward that returns zeros would pass.)
"""

from collections.abc import Callable, Mapping

import numpy as np

from ..arguments import flag, of_kind, one_of, whole
from ..backend import DropoutKey, array_module, to_host
from ..batch import Batch
from ..config import AlbertConfig
from ..model import PLAIN, Pairs, pretraining_backward, pretraining_forward
from ..params import Params
from .compare import LIMITS, Report, TensorResult, judge
from .contract import CheckedPair, arguments, kind_of
from .diagnose import guess_shape
from .numeric import gradient, not_complex, slope


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
    for what, function in (("forward", forward), ("backward", backward)):
        of_kind(what, function, Callable)
    of_kind("static", static, Mapping | None)
    check_options(name, entries, method, seed)
    pair = CheckedPair(forward, backward, static or {}, name)
    args, tensors = arguments(pair.name, args, constants)
    rng = _own_rng(seed)

    y, cache = pair.forward(args)
    dy = array_module(y).asarray(rng.standard_normal(y.shape))
    gradients, broken = pair.gradients(args, tensors, y, cache, dy)

    def loss(moved):
        return (dy * pair.forward(args | moved)[0]).sum()

    report = _check(pair.name, loss, tensors, gradients, entries, method, seed, rng)
    if broken:                                       # numbers after that say little
        report.results, report.remark = [TensorResult.broken(*note) for note in broken] + report.results, ""
    return report


def check_model(
    config, batch, params, key=None, recompute=False, name="model", entries=True, method="complex", seed=0, pairs=PLAIN,
):  # fmt: skip
    """Compare every parameter's gradient of the total loss with numeric ones, in float64.

    pairs    the implementation whose gradient is checked; the numeric ones are always those of the plain model's loss
    """
    for what, value, kind in (("config", config, AlbertConfig), ("batch", batch, Batch), ("params", params, Params),
                              ("key", key, DropoutKey | None), ("pairs", pairs, Pairs)):
        of_kind(what, value, kind)
    check_options(name, entries, method, seed)
    batch.check(config)
    if not isinstance(recompute, bool):
        whole("recompute", recompute, 0, config.num_hidden_layers)
    params = params.astype(np.float64)
    grads = params.zeros_like()
    ctx = pairs.context(pairs, config, params, batch.attention_mask, key, pairs.memory(params))
    _, cache = pretraining_forward(batch, ctx, recompute=recompute)
    pretraining_backward(cache, ctx, grads)

    def loss(tensors):
        ctx = PLAIN.context(PLAIN, config, tensors, batch.attention_mask, key)
        return pretraining_forward(batch, ctx)[0].total

    return _check(name, loss, dict(params), grads, entries, method, seed, _own_rng(seed))


def check_options(name, entries, method, seed):
    of_kind("name", name, str | None)
    flag("entries", entries)
    one_of("method", method, tuple(LIMITS))
    whole("seed", seed)


def _own_rng(seed):
    """Not `default_rng(seed)`, which the caller may have drawn x from: with dy = x, xᵀdy is symmetric and
    a transposed gradient passes."""
    return np.random.default_rng([seed, int.from_bytes(b"upstream")])


def _check(case, loss, tensors, gradients, entries, method, seed, rng):
    directions = {key: array_module(x).asarray(rng.standard_normal(x.shape)) for key, x in tensors.items()}
    remark = ""
    if method == "complex" and (reason := not_complex(loss, tensors, directions)):
        method, remark = "central", f"checked by central differences, because {reason}"
    if not entries:
        results = judge(_results(loss, tensors, gradients, method, directions), LIMITS[method])
        if all(result.passed for result in results):
            return Report(case, method, entries, seed, results, remark)
    return Report(case, method, True, seed, judge(_results(loss, tensors, gradients, method), LIMITS[method]), remark)


def _results(loss, tensors, gradients, method, directions=None):
    """One for each tensor: of its slope along its direction, or of every entry if none is given."""
    results = []
    for key, x in tensors.items():
        name, yours = key if "." in key else f"d{key}", gradients[key]
        if note := _misfit(key, x, gradients):
            results.append(TensorResult.broken(name, note))
        elif directions is None:
            results.append(TensorResult(name, to_host(yours), gradient(loss, tensors, key, method)))
        else:
            parts = yours * directions[key]
            expected = np.asarray(slope(loss, tensors, {key: directions[key]}, method))
            results.append(TensorResult(name, np.asarray(to_host(parts.sum())), expected, float(abs(parts).sum())))
    return results


def _misfit(key, x, gradients):
    """Say what is wrong with a gradient that cannot be compared; None for any other."""
    yours = gradients[key]
    if not hasattr(yours, "dtype"):
        return f"is {'None' if yours is None else kind_of(yours)}; it must be an array of shape {x.shape}"
    if yours.shape != x.shape:
        shapes = {other: getattr(g, "shape", None) for other, g in gradients.items() if other != key}
        cause = guess_shape(yours.shape, x.shape, shapes)
        return f"has shape {yours.shape}; it must be {x.shape}{f' (looks like: {cause})' if cause else ''}"
    return f"has dtype {yours.dtype}; it must be {x.dtype}, its tensor's" if yours.dtype != x.dtype else None
