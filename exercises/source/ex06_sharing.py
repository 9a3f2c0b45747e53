# %% [markdown]
# # Exercise 6: a block and its sharing
#
# A layer of ALBERT is a block of two halves. Each adds something to what it was given, and then normalises:
#
# $$x \leftarrow \mathrm{norm}(x + \mathrm{attention}(x)) \qquad
# x \leftarrow \mathrm{norm}(x + \mathrm{down}(\mathrm{gelu}(\mathrm{up}(x))))$$
#
# The two norms have weights of their own. ALBERT applies one block L times, always with the same weights. You write
# the block, then the loop, and the way back through both.
#
# `x`, `y`, `dy`, `dx` are (B, T, H), `mask` is (B, 1, 1, T) and goes to the attention: 0 for tokens, for padding a
# finite number far below all scores, at most -10000; no sequence is padding alone. `heads` and `eps` are numbers.
# `weights` is a dict of 16 arrays, in any order; H is the width of the layers, F that of the feed-forward part:
#
# | names | shapes |
# |---|---|
# | `attention.query.w`, `attention.query.b`, and so `key`, `value`, `output` | (H, H), (H,) |
# | `attention.norm.gain`, `attention.norm.bias` | (H,), (H,) |
# | `ffn.up.w`, `ffn.up.b` | (H, F), (F,) |
# | `ffn.down.w`, `ffn.down.b` | (F, H), (H,) |
# | `ffn.norm.gain`, `ffn.norm.bias` | (H,), (H,) |
#
# The pairs of the package are yours to use:
#
#     y, cache = linear_forward(x, w, b)                   dx, dw, db = linear_backward(dy, cache)
#     y, cache = gelu_forward(x)                           (dx,) = gelu_backward(dy, cache)
#     y, cache = layer_norm_forward(x, gain, bias, eps)    dx, dgain, dbias = layer_norm_backward(dy, cache)
#     y, cache = multi_head_forward(x, wq, bq, wk, bk, wv, bv, wo, bo, mask, heads)
#     dx, dwq, dbq, dwk, dbk, dwv, dbv, dwo, dbo, none = multi_head_backward(dy, cache)
#
# There is no dropout here. Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not
# write into arguments, the cache included: others still need them. Return arrays of their own, no views of arguments.

# %%
import numpy as np

from minalbert.layers import (
    gelu_backward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    multi_head_backward,
    multi_head_forward,
)

# The names in the order in which multi_head_forward takes the arrays, and multi_head_backward returns the gradients.
PROJECTIONS = [f"attention.{part}.{kind}" for part in ("query", "key", "value", "output") for kind in ("w", "b")]

# %% [markdown]
# ## The block
#
# `block_backward` returns `dx` and `dweights`, a dict with the same 16 names. On the way back, a sum hands its
# gradient to both of its terms, so each `dx` is a sum of two parts.

# %%
def block_forward(x, weights, mask, heads, eps):
    """x, y: (B, T, H)   weights: a dict, see above   mask: (B, 1, 1, T)   Returns y, cache."""
    ### HINT Six calls of the pairs, two sums. Each pair gives a cache; keep all six.
    ### HINT a = attention(x), x = norm(x + a); then f = down(gelu(up(x))), and y = norm(x + f).
    ### HINT a: multi_head_forward(x, *[weights[n] for n in PROJECTIONS], mask, heads); x = norm(x + a), y = norm(x + f)
    ### BEGIN SOLUTION
    a, attention = multi_head_forward(x, *[weights[name] for name in PROJECTIONS], mask, heads)
    x, norm1 = layer_norm_forward(x + a, weights["attention.norm.gain"], weights["attention.norm.bias"], eps)
    u, up = linear_forward(x, weights["ffn.up.w"], weights["ffn.up.b"])
    g, gelu = gelu_forward(u)
    f, down = linear_forward(g, weights["ffn.down.w"], weights["ffn.down.b"])
    y, norm2 = layer_norm_forward(x + f, weights["ffn.norm.gain"], weights["ffn.norm.bias"], eps)
    return y, (attention, norm1, up, gelu, down, norm2)
    ### END SOLUTION


def block_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dweights (a dict with the names of the weights)."""
    ### HINT Forward's lines from the last to the first, each by its backward. x is used twice in each half.
    ### HINT Back through the norm comes dsum. It goes into the branch and past it: dx = dsum + what the branch gives.
    ### HINT Norm 2, down, gelu, up; add what skipped the branch to what came through it. Norm 1, attention; add again.
    ### BEGIN SOLUTION
    attention, norm1, up, gelu, down, norm2 = cache
    d = {}
    dsum, d["ffn.norm.gain"], d["ffn.norm.bias"] = layer_norm_backward(dy, norm2)
    dg, d["ffn.down.w"], d["ffn.down.b"] = linear_backward(dsum, down)
    (du,) = gelu_backward(dg, gelu)
    df, d["ffn.up.w"], d["ffn.up.b"] = linear_backward(du, up)
    dx = dsum + df
    dsum, d["attention.norm.gain"], d["attention.norm.bias"] = layer_norm_backward(dx, norm1)
    da, *dprojections, _ = multi_head_backward(dsum, attention)
    d.update(zip(PROJECTIONS, dprojections, strict=True))
    return dsum + da, d
    ### END SOLUTION


# %% [markdown]
# ## The encoder: the same block, L times
#
# `layers` is L, at least 1. Think of L copies of the weights: each has a gradient of its own. Then the copies become
# one, and moving it moves all of them at once. What is its gradient?

# %%
def encoder_forward(x, weights, mask, heads, eps, layers):
    """x, y: (B, T, H)   layers: how often the block is applied   Returns y, cache."""
    ### HINT A loop. What one pass puts out, the next takes in; the way back will need something of every pass.
    ### HINT x₀ = x, x_l = block(x_{l-1}) with the same weights, and y = x_L; one cache for each l.
    ### HINT In a loop, x is replaced by what block_forward returns; the weights never are. Append each cache.
    ### BEGIN SOLUTION
    caches = []
    for _ in range(layers):
        x, cache = block_forward(x, weights, mask, heads, eps)
        caches.append(cache)
    return x, caches
    ### END SOLUTION


def encoder_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dweights (a dict with the names of the weights)."""
    ### HINT The last pass comes first. Its dx is what the pass before is handed. Its gradients meet those of others.
    ### HINT dx_{l-1}, g_l = block_backward(dx_l, cache_l), from l = L to 1, and dweights = Σ_l g_l, name by name.
    ### HINT Loop over reversed(cache), and replace dy each time. Add into a dict that begins empty: total.get(name, 0).
    ### BEGIN SOLUTION
    total = {}
    for block_cache in reversed(cache):
        dy, dweights = block_backward(dy, block_cache)
        for name, gradient in dweights.items():
            total[name] = total.get(name, 0) + gradient
    return dy, total
    ### END SOLUTION


# %% [markdown]
# The last check but one compares with the encoder of transformers' `AlbertModel`, run in three passes, and with the
# gradients that PyTorch found for it.
#
# ## Question
#
# With shared weights each tensor's gradient is a sum over L passes. Which of these does sharing make smaller, and
# which not: the parameters, the caches between forward and backward, the time to compute a step? And why can a
# framework not find out from the sum alone which pass a wrong gradient came from; what would you print, in this
# exercise, to find it?
