# %% [markdown]
# # Exercise 6: groups of layers that share
#
# ALBERT applies one block L times, always with the same weights. Between that and a set of weights for each layer
# there is a middle: G groups of layers, one set of weights for each. Layers are counted from 0, and layer $l$ has the
# weights of group
#
# $$g(l) = \lfloor l\,G / L \rfloor$$
#
# so a group is a run of layers. With G = 1 all layers share, with G = L none do.
#
# The block is given. `x`, `y`, `dy`, `dx` are (B, T, H), `heads` and `eps` are numbers, and `mask` is (B, 1, 1, T): 0
# for tokens, for padding a finite number far below all scores, at most -10000; no sequence is padding alone. The
# weights of a block are a dict of 16 arrays by name, in any order (`"attention.query.w"`, ..., `"ffn.norm.bias"`).
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
# `weights` is a list of G dicts, `layers` is L, at least G. Think of a copy of the weights for each layer: each copy
# has a gradient of its own. Then the copies of a group become one. What is its gradient?

# %%
def encoder_forward(x, weights, mask, heads, eps, layers):
    """x, y: (B, T, H)   weights: a list of dicts, one for each group   layers: L   Returns y, cache."""
    ### HINT A loop. What one layer puts out, the next takes in; the way back will need something of every layer.
    ### HINT x₀ = x, x_{l+1} = block(x_l) with the weights of group l G // L, and y = x_L; one cache for each l.
    ### HINT G is len(weights). For each layer: find its group, call block_forward with its weights, keep both.
    ### BEGIN SOLUTION
    caches = []
    for layer in range(layers):
        group = layer * len(weights) // layers
        x, cache = block_forward(x, weights[group], mask, heads, eps)
        caches.append((group, cache))
    return x, (caches, len(weights))
    ### END SOLUTION


def encoder_backward(dy, cache):
    """dy, dx: (B, T, H)   Returns dx, dweights: a list of dicts with the names of the weights, one for each group."""
    ### HINT The last layer comes first. Its dx is for the layer before. Its gradients meet those of its group.
    ### HINT From l = L-1 to 0: dx_l, g_l = block_backward(dx_{l+1}, cache_l); a group's dweights = Σ of its g_l.
    ### HINT for group, c in reversed(caches): dy, g = block_backward(dy, c); add g[name] to total[group][name].
    ### BEGIN SOLUTION
    caches, groups = cache
    total = [{} for _ in range(groups)]
    for group, block_cache in reversed(caches):
        dy, dweights = block_backward(dy, block_cache)
        for name, gradient in dweights.items():
            total[group][name] = total[group].get(name, 0) + gradient
    return dy, total
    ### END SOLUTION


# %% [markdown]
# The last check but one compares with the encoder of transformers' `AlbertModel`, of 4 layers in 2 groups, and with the
# gradients that PyTorch found for it.
#
# ## Question
#
# Take G from 1 to L. Which of these grows with it, and how, and which does not: the parameters, the caches between
# forward and backward, the time to compute a step? And why can a framework not find out from a group's gradient alone
# which of its layers a wrong part came from; what would you print, in this exercise, to find it?
