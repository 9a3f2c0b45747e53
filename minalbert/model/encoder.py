"""The encoder: one block, applied L times.

Sharing is this loop: each turn passes the same parameters, keeps a cache of its own, and adds into the same
gradients. `pairs` says who computes the two halves of the block; the loop is the same for all of them.

    x: (B, T, H), before the first layer and after the last
"""

from ..layers import attention_probs
from .block import block_backward, block_forward
from .reversible import reversible_backward, reversible_forward, reversible_layers


def encoder_forward(x, ctx, recompute=False):
    """Keep a cache per layer, or with `recompute` its input, from which backward makes the cache again.

    recompute: k keeps the input of every k-th layer, from which backward makes k caches at a time; True is 1
    """
    if ctx.config.reversible:
        return reversible_forward(x, ctx)
    kept = []
    for layer in range(ctx.config.num_hidden_layers):
        if recompute and layer % recompute == 0:
            kept.append(x)
            mark = ctx.mark()
        x, cache = block_forward(x, layer, ctx)
        if recompute:
            x = ctx.release(mark, keep=x)
        else:
            kept.append(cache)
    return x, (kept, recompute)


def encoder_backward(dx, cache, ctx, grads):
    """Empties the cache as it goes: Python frees a layer's arrays once its gradient is known."""
    if ctx.config.reversible:
        return reversible_backward(dx, cache, ctx, grads)
    kept, recompute = cache
    if not kept:
        raise ValueError("this cache was used up by an earlier backward pass; run forward again")

    while kept:
        mark, caches = ctx.mark(), [kept.pop()]
        if recompute:
            caches = caches_from(caches.pop(), len(kept) * recompute, recompute, ctx)
        while caches:
            dx = block_backward(dx, caches.pop(), ctx, grads)
        ctx.release(mark)
    return dx


def caches_from(x, first, count, ctx):
    """The caches of `count` layers, or as many as there are, made again from the input of the first."""
    caches = []
    for layer in range(first, min(first + count, ctx.config.num_hidden_layers)):
        x, cache = block_forward(x, layer, ctx)
        caches.append(cache)
    return caches


def encoder_states(x, ctx):
    """The input of each layer, and the output of the last. Nothing is kept: use each before asking for the next."""
    yield x
    if ctx.config.reversible:
        yield from (y for y, _ in reversible_layers(x, ctx))
        return
    mark = ctx.mark()
    for layer in range(ctx.config.num_hidden_layers):
        x = ctx.release(mark, keep=block_forward(x, layer, ctx)[0])
        yield x


def encoder_attention(x, ctx):
    """Each layer's attention probabilities: (B, N, T, T). They are in the cache of the plain half."""
    if ctx.config.reversible:
        yield from (attention_probs(half.attention) for _, (half, _) in reversible_layers(x, ctx))
        return
    for layer in range(ctx.config.num_hidden_layers):
        x, (half, _) = block_forward(x, layer, ctx)
        yield attention_probs(half.attention)
