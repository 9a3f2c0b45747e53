# %% [markdown]
# # Exercise 5: softmax and attention
#
# Each head compares every token with every other and takes a weighted mean of their values:
#
# $$P = \mathrm{softmax}(q k^\top / \sqrt{D} + \text{mask}) \qquad \text{context} = P\,v$$
#
# You write softmax and attention, and the way back through both. Shapes: `q, k, v, context` (B, N, T, D), the
# probabilities (B, N, T, T), `mask` (B, 1, 1, T): 0 for a token, and for padding a finite number far below all scores,
# at most -10000. A sequence may be padding alone: then any weighted mean of the values is accepted as `context`, and dv
# is the gradient of the one that you return. B sequences, N heads, T tokens, D numbers a head.
#
# A backward function is handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments. Arrays may be transposed, or parts
# of larger ones: then `reshape` may return a copy. Do not write into arguments, nor into arrays that forward was given,
# nor into its result: others still need them. The cache is your own, and is used once. Return arrays of their own, no
# views of arguments or of each other.

# %%
import numpy as np

# %% [markdown]
# ## Softmax
#
# $$y_i = \exp(x_i) / \sum_j \exp(x_j)$$
#
# Over the last axis, of any number of axes. Numbers near 2000 must not overflow: subtract each row's largest first,
# which changes nothing in exact arithmetic. For the way back, $\partial y_i/\partial x_j = y_i(\delta_{ij} - y_j)$.

# %%
def softmax_forward(x):
    """x, y: (..., K)   Returns y, cache."""
    ### HINT Which axis has to sum to one afterwards? And what happens to exp(2000)?
    ### HINT With m = max_j x_j of each row: y_i = exp(x_i - m) / Σ_j exp(x_j - m).
    ### HINT y = exp(x - x.max(axis=-1, keepdims=True)); divide by its sum over axis -1, keepdims=True; the cache is y.
    ### BEGIN SOLUTION
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    y = y / y.sum(axis=-1, keepdims=True)
    return y, y
    ### END SOLUTION


def softmax_backward(dy, cache):
    """dy, dx: (..., K)   Returns dx."""
    ### HINT Raising x_j raises y_j and lowers all others of the row. Both effects reach the loss.
    ### HINT dx_j = Σ_i dy_i y_i (δ_ij - y_j) = y_j (dy_j - Σ_i dy_i y_i).
    ### HINT inner = (dy * y).sum(axis=-1, keepdims=True), and dx is y times (dy - inner).
    ### BEGIN SOLUTION
    y = cache
    return y * (dy - (dy * y).sum(axis=-1, keepdims=True))
    ### END SOLUTION


# %% [markdown]
# ## Attention
#
# Walk forward's lines from the last to the first; each line has its own backward line. What does the factor
# $1/\sqrt{D}$ do on the way back?

# %%
def attention_forward(q, k, v, mask):
    """q, k, v: (B, N, T, D)   mask: (B, 1, 1, T)   Returns context (B, N, T, D), cache."""
    ### HINT Scores first: every query with every key. Then the scale, then the mask, then softmax, then the values.
    ### HINT S = q kᵀ / √D + mask, P = softmax(S), context = P v.
    ### HINT scores = q @ k.swapaxes(-1, -2) / √D + mask; keep what backward will need: q, k, v and the probabilities.
    ### BEGIN SOLUTION
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    probs, softmax_cache = softmax_forward(scores + mask)
    return probs @ v, (q, k, v, probs, softmax_cache)
    ### END SOLUTION


def attention_backward(dcontext, cache):
    """dcontext: (B, N, T, D)   Returns dq, dk, dv, and None for the mask, which is a constant."""
    ### HINT Four lines of forward, four lines of backward, in reverse: values, softmax, scale, scores.
    ### HINT dv = Pᵀ dcontext, dP = dcontext vᵀ, dS = softmax_backward(dP), dq = dS k / √D, dk = dSᵀ q / √D.
    ### HINT swapaxes(-1, -2) is the transpose of the last two axes; forward divided by √D once, so backward does, too.
    ### BEGIN SOLUTION
    q, k, v, probs, softmax_cache = cache
    dv = probs.swapaxes(-1, -2) @ dcontext
    dprobs = dcontext @ v.swapaxes(-1, -2)
    dscores = softmax_backward(dprobs, softmax_cache) / np.sqrt(q.shape[-1])
    dq = dscores @ k
    dk = dscores.swapaxes(-1, -2) @ q
    return dq, dk, dv, None
    ### END SOLUTION


# %% [markdown]
# The last check feeds your two pairs what PyTorch's `scaled_dot_product_attention` was fed, and compares context and
# gradients with the numbers PyTorch gave.
#
# ## Question
#
# Add one vector to every key: no probability changes. Why? What does that say about the gradient of the key bias, and
# what would a relative error, entry by entry, say about that gradient in a gradient check?
