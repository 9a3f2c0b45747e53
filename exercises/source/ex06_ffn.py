# %% [markdown]
# # Exercise 6: layers that share attention alone
#
# ALBERT applies one block L times, always with the same weights. The paper also tries half of it: all layers share the
# attention, and each has a feed-forward part (FFN) of its own. That costs parameters, and hardly any accuracy.
#
# The block is given. `x`, `y`, `dy`, `dx` are (B, T, H), `heads` and `eps` are numbers, and `mask` is (B, 1, 1, T): 0
# for tokens, for padding a finite number far below all scores, at most -10000; no sequence is padding alone. The
# weights of a block are a dict of 16 arrays by name, in any order: ten begin with `attention.`, six with `ffn.`; each
# half has its norm.
#
# | forward | backward |
# |---|---|
# | `block_forward(x, weights, mask, heads, eps)` -> y, cache | `block_backward(dy, cache)` -> dx, dweights: a dict |
#
# Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not write into arguments, the
# cache included: others still need them. Return arrays of their own, no views of arguments.

# %%
import numpy as np

from minalbert_course.block import block_backward, block_forward

# %% [markdown]
# ## The encoder
#
# `attention` is a dict of the ten, `ffns` a list of L dicts of the six, one for each layer, from the first to the last.
# What comes back has the same names: `dattention` a dict of ten, `dffns` a list of L dicts of six.

# %%
def encoder_forward(x, attention, ffns, mask, heads, eps):
    """x, y: (B, T, H)   attention: a dict   ffns: a list of L dicts   Returns y, cache."""
    ### HINT A loop. What one layer puts out, the next takes in; the way back will need something of every layer.
    ### HINT x₀ = x, x_{l+1} = block(x_l) with attention and ffns[l] together, and y = x_L; one cache for each l.
    ### HINT x, cache = block_forward(x, attention | ffns[l], mask, heads, eps) in a loop; put each cache into a list.
    ### BEGIN SOLUTION
    caches = []
    for ffn in ffns:
        x, cache = block_forward(x, attention | ffn, mask, heads, eps)
        caches.append(cache)
    return x, caches
    ### END SOLUTION


def encoder_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dattention (a dict), dffns (a list of dicts)."""
    ### HINT The last layer comes first. Its dx is what the layer before it is handed. Which gradients meet others?
    ### HINT From l = L-1 to 0: dx_l, g_l = block_backward(dx_{l+1}, cache_l); dattention = Σ_l g_l, dffns[l] = g_l.
    ### HINT for c in reversed(cache): dy, g = block_backward(dy, c); add up its "attention."; insert the others at 0.
    ### BEGIN SOLUTION
    dattention, dffns = {}, []
    for block_cache in reversed(cache):
        dy, dweights = block_backward(dy, block_cache)
        for name, gradient in dweights.items():
            if name.startswith("attention."):
                dattention[name] = dattention.get(name, 0) + gradient
        own = {name: gradient for name, gradient in dweights.items() if name.startswith("ffn.")}
        dffns.insert(0, own)
    return dy, dattention, dffns
    ### END SOLUTION


# %% [markdown]
# The last check but one compares with the encoder of transformers' `AlbertModel`, its three layers handed one
# attention, and with the gradients that PyTorch found for it.
#
# ## Question
#
# Compare: all shared, attention alone, nothing. Which of these differ, and how much for H = 768, F = 3072, L = 12,
# and which do not: the parameters of the layers, the caches between forward and backward, the time to compute a step?
# And what does the shared attention's gradient tell you about a mistake in one layer; what would you print to find
# it?
