"""What the model calls, in terms of what an exercise asks for: `adapted(name, forward, backward)`, a pair.

Results are copied, and cast to the dtype of what they were computed from: the model adds into them, and a student's
cache may still hold them.
"""

import inspect

import numpy as np

from minalbert.errors import ConfigError
from minalbert.layers import gather_backward, gather_forward
from minalbert.model.gradients import add_to

from .block import NAMES


def adapted(name, forward, backward):
    return ADAPTERS.get(name, plain_pair)(forward, backward)


def plain_pair(forward, backward):
    def yours_forward(*args, **static):
        y, cache = forward(*args, **static)
        return like(args, y), cache

    def yours_backward(dy, cache):
        gradients = backward(dy, cache)
        gradients = gradients if isinstance(gradients, tuple | list) else (gradients,)
        return tuple(like((dy,), gradient) for gradient in gradients)

    return yours_forward, yours_backward


def attention_pair(forward, backward):
    """An exercise has as many queries as keys. The model's last layer has fewer queries, so zeros are added."""

    def yours_forward(q, *args):
        wanted, keys = q.shape[2], args[0].shape[2]
        context, cache = pair[0](rows_added(q, keys), *args)
        return context[:, :, :wanted], (cache, wanted, keys)

    def yours_backward(dcontext, cache):
        cache, wanted, keys = cache
        dq, *others = pair[1](rows_added(dcontext, keys), cache)
        return dq[:, :, :wanted], *others

    pair = plain_pair(lambda *args: forward(*fewer(forward, args)), backward)
    return yours_forward, yours_backward


def rows_added(x, count):
    """(B, N, Q, D) -> (B, N, count, D), zeros below."""
    return np.pad(x, ((0, 0), (0, 0), (0, count - x.shape[2]), (0, 0))) if x.shape[2] < count else x


def fewer(function, args):
    """The arguments without dropout's rate and key, if the function takes none and nothing is dropped."""
    parameters = inspect.signature(function).parameters.values()
    takes = len(parameters)
    if takes >= len(args) or any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return args
    rate, key = args[-2:]
    if rate and key is not None:
        raise ConfigError(
            f"your {function.__name__} takes {takes} arguments and drops nothing, but this model's dropout is "
            f"{rate:g}; set it to 0 (--attention-probs-dropout-prob 0)"
        )
    return args[:takes]


def like(args, value):
    """A copy of a result; real numbers in the dtype of the arguments'."""
    if not hasattr(value, "dtype"):
        return value
    dtype = next(x.dtype for x in args if hasattr(x, "dtype") and x.dtype.kind in "fc")
    return value.astype(value.dtype if value.dtype.kind == "c" or dtype.kind == "c" else dtype)


def cross_entropy_pair(forward, backward):
    """The model may divide by the sum over a larger batch, which an exercise knows nothing of."""

    def yours_forward(logits, labels, weights, total=None):
        loss, cache = forward(logits, labels, weights)
        share = 1.0 if total is None else float(weights.sum()) / float(total)
        return like((logits,), np.asarray(loss) * share), (cache, share)

    def yours_backward(dloss, cache):
        cache, share = cache
        dlogits, *_ = backward(dloss * share, cache)
        return dlogits.copy(), None, None

    return yours_forward, yours_backward


def encoder_pair(forward, backward):
    """An exercise's encoder has one set of weights, as a dict, and no dropout."""

    def yours_forward(x, ctx, recompute=False, positions=None):
        config = ctx.config
        if config.sharing != "all" or config.num_hidden_groups != 1:
            raise ConfigError("your encoder_forward applies one set of weights; this model has more (sharing, groups)")
        if ctx.key and (config.hidden_dropout_prob or config.attention_probs_dropout_prob):
            raise ConfigError("your encoder_forward drops nothing, but this model has dropout; set both rates to 0")
        weights = {name: ctx.params[f"encoder.{name}"] for name in NAMES}
        heads, eps, layers = config.num_attention_heads, config.layer_norm_eps, config.num_hidden_layers
        y, cache = forward(x, weights, ctx.mask, heads, eps, layers)
        y, gather = gather_forward(y, positions)
        return like((x,), y), (cache, gather)

    def yours_backward(dy, cache, ctx, grads):
        cache, gather = cache
        dx, dweights = backward(gather_backward(dy, gather)[0], cache)
        add_to(grads, "encoder", NAMES, [dweights[name] for name in NAMES])
        return like((dy,), dx)

    return yours_forward, yours_backward


def gather_pair(forward, backward):
    """The model also asks for all positions, by None."""

    def yours_forward(x, positions):
        return (x, None) if positions is None else pair[0](x, positions)

    def yours_backward(dy, cache):
        return (dy, None) if cache is None else pair[1](dy, cache)

    pair = plain_pair(forward, backward)
    return yours_forward, yours_backward


ADAPTERS = {
    "attention": attention_pair,
    "gather": gather_pair,
    "cross_entropy": cross_entropy_pair,
    "encoder": encoder_pair,
}
