"""The encoder: one block, applied L times.

Sharing is this loop: each turn passes the same parameters, keeps a cache of its own, and adds into the same
gradients. `pairs` says who computes the two halves of the block; the loop is the same for all of them.

    x: (B, T, H), before the first layer   y: (B, Q, H) after the last, at `positions` (B, Q) or, without, at all
"""

from ..layers import attention_probs
from .block import block_backward, block_forward


def encoder_forward(x, ctx, recompute=False, positions=None):
    """Keep a cache per layer, or with `recompute` only its input, from which backward makes the cache again."""
    kept, wanted = [], positions_of_layers(positions, ctx)
    for layer in range(ctx.config.num_hidden_layers):
        mark = ctx.mark()
        y, cache = block_forward(x, layer, ctx, wanted[layer])
        kept.append(x if recompute else cache)
        x = ctx.release(mark, keep=y) if recompute else y
    return x, (kept, wanted, recompute)


def encoder_backward(dx, cache, ctx, grads):
    """Empties the cache as it goes: Python frees a layer's arrays once its gradient is known."""
    kept, wanted, recompute = cache
    if not kept:
        raise ValueError("this cache was used up by an earlier backward pass; run forward again")

    while kept:
        mark, block_cache = ctx.mark(), kept.pop()
        if recompute:
            _, block_cache = block_forward(block_cache, len(kept), ctx, wanted[len(kept)])
        dx = block_backward(dx, block_cache, ctx, grads)
        ctx.release(mark)
    return dx


def positions_of_layers(positions, ctx):
    """Every layer but the last is asked for all tokens, because the next one's keys and values come from them."""
    return [None] * (ctx.config.num_hidden_layers - 1) + [positions]


def encoder_states(x, ctx, positions=None):
    """The input of each layer, and the output of the last. Nothing is kept: use each before asking for the next."""
    yield x
    mark = ctx.mark()
    for layer, wanted in enumerate(positions_of_layers(positions, ctx)):
        x = ctx.release(mark, keep=block_forward(x, layer, ctx, wanted)[0])
        yield x


def encoder_attention(x, ctx):
    """Each layer's attention probabilities: (B, N, T, T). They are in the cache of the plain half."""
    for layer in range(ctx.config.num_hidden_layers):
        x, (half, _) = block_forward(x, layer, ctx)
        yield attention_probs(half.attention)
