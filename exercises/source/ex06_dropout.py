# %% [markdown]
# # Exercise 6: shared layers with dropout, computed again
#
# Dropout sets a share `rate` of the numbers to 0, in training alone; ALBERT's first version was trained with it. Its
# layers share their weights, but not their dropout masks: each samples one of its own. Whoever has little memory keeps
# only what enters each layer, and computes the layer again in the backward pass. Then its mask must be the same, bit
# for bit; a mask that is sampled again gives the gradient of another function.
#
# So a mask comes from a *key*, a tuple of one whole number or more, such as (seed, step): `np.random.default_rng(key)`
# is a generator that gives the same numbers each time it is made with the same key. The mask need not be kept.
#
# Nothing here has a cache: a backward function is given what forward was given. It returns how the loss changes with x
# and with the weights. Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not
# write into arguments. Masks, layers and gradients of layers are arrays of their own.

# %%
import numpy as np

from minalbert.layers import gelu_backward, gelu_forward, layer_norm_backward, layer_norm_forward
from minalbert.layers import linear_backward, linear_forward

# %% [markdown]
# ## The mask
#
# Sample one number $u$ for each place, from the key's generator, with one call of its method `random(shape)`; $u$ is
# uniform in [0, 1). A place is kept where $u \ge$ `rate`, both in float64.

# %%
def dropout_mask(shape, rate, key):
    """shape: a tuple   rate: a number, 0 <= rate < 1   key: a tuple of whole numbers

    Returns an array of this shape: 1 where a number is kept, 0 where it is dropped.
    """
    ### HINT Make a new generator in each call, from the key: one that lives on has moved on by the next call.
    ### HINT mask = 1 where u ≥ rate, otherwise 0; u = random(shape) of default_rng(key).
    ### HINT u comes from the generator in one call; compare it with the rate, and make numbers of True and False.
    ### BEGIN SOLUTION
    u = np.random.default_rng(key).random(shape)
    return (u >= rate).astype(float)
    ### END SOLUTION


# %% [markdown]
# ## Dropout
#
# $$y = x\;\frac{\text{mask}}{1 - \text{rate}} \qquad dx = dy\;\frac{\text{mask}}{1 - \text{rate}}$$
#
# The division keeps the mean as it was, so that nothing has to be rescaled in evaluation. There `key` is None: nothing
# is dropped and nothing is divided. A rate is at least 0 and below 1.

# %%
def dropout_forward(x, rate, key):
    """x, y: any shape   rate: a number   key: a tuple, or None in evaluation   Returns y."""
    ### HINT What becomes of the mean of x, if a quarter of the numbers is set to 0? And in evaluation?
    ### HINT Without a key y = x. With one: y = x mask / (1 - rate).
    ### HINT First ask whether the key is None. Then dropout_mask of x's shape, the product, and the division.
    ### BEGIN SOLUTION
    if key is None:
        return x
    return x * dropout_mask(x.shape, rate, key) / (1 - rate)
    ### END SOLUTION


def dropout_backward(dy, rate, key):
    """dy: any shape   rate, key: as forward had them   Returns dx."""
    ### HINT Forward multiplied each number by a constant. What is the derivative of that, and which constant was it?
    ### HINT dx = dy mask / (1 - rate), with forward's mask: the same key gives it again. Without a key dx = dy.
    ### HINT A product with constants is its own backward pass: the forward function, asked with dy.
    ### BEGIN SOLUTION
    return dropout_forward(dy, rate, key)
    ### END SOLUTION


# %% [markdown]
# ## A layer
#
# $$y = \mathrm{norm}\bigl(x + \mathrm{dropout}(\mathrm{gelu}(x\,w + b))\bigr)$$
#
# Each half of ALBERT's block ends like this: dropout on what the half has computed, *before* the sum with x, and the
# norm after the sum. So x itself always passes.
#
# `weights` is a dict, in any order: `w` (H, H), `b` (H,), and the norm's `gain` (H,) and `bias` (H,). The library has
# the parts:
#
# | forward | backward |
# |---|---|
# | `linear_forward(x, w, b)` -> y, cache | `linear_backward(dy, cache)` -> dx, dw, db |
# | `gelu_forward(x)` -> y, cache | `gelu_backward(dy, cache)` -> a tuple of one: (dx,) |
# | `layer_norm_forward(x, gain, bias, eps)` -> y, cache | `layer_norm_backward(dy, cache)` -> dx, dgain, dbias |
#
# `layer_backward` computes forward again, for the caches.

# %%
def layer_forward(x, weights, eps, rate, key):
    """x, y: (B, T, H)   weights: a dict   eps, rate: numbers   key: a tuple or None   Returns y."""
    ### HINT Follow the formula from the inside. Which of the two terms of the sum is dropped out?
    ### HINT a = gelu(x w + b), y = norm(x + dropout(a)).
    ### HINT Three forward functions of the library, each of which returns a pair, and yours after the second.
    ### BEGIN SOLUTION
    h, _ = linear_forward(x, weights["w"], weights["b"])
    a, _ = gelu_forward(h)
    total = x + dropout_forward(a, rate, key)
    y, _ = layer_norm_forward(total, weights["gain"], weights["bias"], eps)
    return y
    ### END SOLUTION


def layer_backward(dy, x, weights, eps, rate, key):
    """dy: (B, T, H)   x, weights, eps, rate, key: as forward had them

    Returns dx (B, T, H), dweights: a dict of the names of weights.
    """
    ### HINT Forward once more, with its key, and keep three caches; then its steps in reverse. How often is x used?
    ### HINT dtotal from the norm; dh from dropout, then gelu; dx = dtotal + what linear hands back.
    ### HINT dtotal goes two ways: straight to x, and through dropout_backward, gelu_backward, linear_backward. Add.
    ### BEGIN SOLUTION
    h, linear = linear_forward(x, weights["w"], weights["b"])
    a, gelu = gelu_forward(h)
    _, norm = layer_norm_forward(x + dropout_forward(a, rate, key), weights["gain"], weights["bias"], eps)
    dtotal, dgain, dbias = layer_norm_backward(dy, norm)
    da = dropout_backward(dtotal, rate, key)
    (dh,) = gelu_backward(da, gelu)
    dx, dw, db = linear_backward(dh, linear)
    return dtotal + dx, {"w": dw, "b": db, "gain": dgain, "bias": dbias}
    ### END SOLUTION


# %% [markdown]
# ## L layers
#
# All have the same weights. Layer l, counted from 0, has the key `(*key, l)`: with key = (7, 3) the layers have
# (7, 3, 0), (7, 3, 1) and so on. Where key is None no layer drops anything.

# %%
def encoder_forward(x, weights, eps, layers, rate, key):
    """x, y: (B, T, H)   weights: a dict   layers: their number, L, at least 1

    Returns y, states: a list of what entered each layer, L arrays (B, T, H); the first is x.
    """
    ### HINT A loop over the same weights. What must differ from layer to layer, and what must be kept?
    ### HINT x₀ = x, x_{l+1} = layer(x_l) with the key (*key, l); states = [x₀, ..., x_{L-1}], y = x_L.
    ### HINT In the loop first append x, then replace it. Ask for None before you unpack the key.
    ### BEGIN SOLUTION
    states = []
    for layer in range(layers):
        states.append(x)
        x = layer_forward(x, weights, eps, rate, None if key is None else (*key, layer))
    return x, states
    ### END SOLUTION


def encoder_backward(dy, states, weights, eps, rate, key):
    """dy: (B, T, H)   states: as encoder_forward returned them

    Returns dx (B, T, H), dweights: a dict of the names of weights.
    """
    ### HINT The last layer first. Which state did it have, which key, and whose dy is its dx?
    ### HINT From l = L-1 to 0: dx_l, g_l = layer_backward(dx_{l+1}, states[l], ..., (*key, l)); dweights = Σ_l g_l.
    ### HINT reversed(range(len(states))) counts down. Begin dweights with zeros and add; an assignment keeps one alone.
    ### BEGIN SOLUTION
    dweights = {name: 0.0 for name in weights}
    for layer in reversed(range(len(states))):
        own = None if key is None else (*key, layer)
        dy, gradients = layer_backward(dy, states[layer], weights, eps, rate, own)
        dweights = {name: dweights[name] + gradients[name] for name in weights}
    return dy, dweights
    ### END SOLUTION


# %% [markdown]
# The last check but one compares with PyTorch's numbers: its GELU, its layer norm and its autograd, with the masks of
# these keys.
#
# ## Question
#
# Somebody's backward pass computes the layers again with masks that are sampled again. Nothing is raised, the gradients
# have the right size, and the loss falls. What are these gradients the gradients of, why does training work all the
# same, and how would you find the mistake? And what would be lost if all layers had one mask?
