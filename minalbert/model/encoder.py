"""The encoder: one block, applied L times.

Sharing is this loop: each turn passes the same parameters, keeps a cache of its own, and adds into the same
gradients. `pairs` says who computes the two halves of the block; the loop is the same for all of them.

    x: (B, T, H), before the first layer   y: (B, Q, H) after the last, at `positions` (B, Q) or, without, at all
"""

from ..layers import attention_probs
from .block import block_backward, block_forward
from .reversible import reversible_backward, reversible_forward, reversible_layers


def encoder_forward(x, ctx, recompute=False, positions=None):
    """Keep a cache per layer, or with `recompute` its input, from which backward makes the cache again.

    recompute: k keeps the input of every k-th layer, from which backward makes k caches at a time; True is 1
    """
    if ctx.config.reversible:
        return reversible_forward(x, ctx, positions)
    kept, wanted = [], positions_of_layers(positions, ctx)
    for layer in range(ctx.config.num_hidden_layers):
        if recompute and layer % recompute == 0:
            kept.append(x)
            mark = ctx.mark()
        if recompute:
            x = ctx.release(mark, keep=block_forward(x, layer, ctx, wanted[layer])[0])
        else:
            x, cache = block_forward(x, layer, ctx, wanted[layer])
            kept.append(cache)
    return x, (kept, wanted, recompute)


def encoder_backward(dx, cache, ctx, grads):
    """Empties the cache as it goes: Python frees a layer's arrays once its gradient is known."""
    if ctx.config.reversible:
        return reversible_backward(dx, cache, ctx, grads)
    kept, wanted, recompute = cache
    if not kept:
        raise ValueError("this cache was used up by an earlier backward pass; run forward again")

    while kept:
        mark, caches = ctx.mark(), [kept.pop()]
        if recompute:
            first = len(kept) * recompute
            caches = caches_from(caches.pop(), first, wanted[first : first + recompute], ctx)
        while caches:
            dx = block_backward(dx, caches.pop(), ctx, grads)
        ctx.release(mark)
    return dx


def positions_of_layers(positions, ctx):
    """Every layer but the last is asked for all tokens, because the next one's keys and values come from them."""
    return [None] * (ctx.config.num_hidden_layers - 1) + [positions]


def caches_from(x, first, wanted, ctx):
    """The caches of some layers, made again from the input of the first; wanted: the positions of each."""
    caches = []
    for layer, positions in enumerate(wanted, first):
        x, cache = block_forward(x, layer, ctx, positions)
        caches.append(cache)
    return caches


def encoder_states(x, ctx, positions=None):
    """The input of each layer, and the output of the last. Nothing is kept: use each before asking for the next."""
    yield x
    if ctx.config.reversible:
        yield from (y for y, _ in reversible_layers(x, ctx, positions))
        return
    mark = ctx.mark()
    for layer, wanted in enumerate(positions_of_layers(positions, ctx)):
        x = ctx.release(mark, keep=block_forward(x, layer, ctx, wanted)[0])
        yield x


def encoder_attention(x, ctx):
    """Each layer's attention probabilities: (B, N, T, T). They are in the cache of the plain half."""
    if ctx.config.reversible:
        yield from (attention_probs(half.attention) for _, (_, half, _) in reversible_layers(x, ctx))
        return
    for layer in range(ctx.config.num_hidden_layers):
        x, (half, _) = block_forward(x, layer, ctx)
        yield attention_probs(half.attention)
