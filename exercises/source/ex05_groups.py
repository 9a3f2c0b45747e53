# %% [markdown]
# # Exercise 5: grouped heads, which may attend to nothing
#
# Two changes to attention. Several heads share one key and one value for each token, which saves memory where a text is
# written word by word; and a head may give less than all of its weight to the tokens.
#
# $$P = \mathrm{softmax}_1(q k^\top / \sqrt{D} + \text{mask}) \qquad \text{context} = P\,v$$
#
# Shapes: `q, context` (B, N, T, D), `k, v` (B, G, T, D), `mask` (B, 1, 1, T): 0 for a token, and for padding a finite
# number far below all scores, at most -10000. B sequences, N heads in G groups (G divides N), T tokens, D numbers a
# head.
#
# A backward function is handed `dy`, how the loss changes with the output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments. Arrays may be transposed, or parts
# of larger ones: then `reshape` may return a copy. Do not write into arguments: others still need them. The cache is
# your own, and is used once. Return arrays of their own, no views of arguments or of each other.

# %%
import numpy as np

# %% [markdown]
# ## A softmax that need not sum to one
#
# $$y_i = \exp(x_i) / \Bigl(1 + \sum_j \exp(x_j)\Bigr)$$
#
# Over the last axis. A row that is far below 0 everywhere gets nearly nothing, as if there were one more score, a 0,
# whose probability is left out. Numbers near 2000 must not overflow, and a row near -2000 is 0.
# For the way back, $\partial y_i/\partial x_j = y_i(\delta_{ij} - y_j)$. (Is that so, with the 1 in the divisor?)

# %%
def softmax1_forward(x):
    """x, y: (..., K)   Returns y, cache."""
    ### HINT Subtract a number m from each row's x, and from the score 0 as well. Which m lets nothing overflow?
    ### HINT With m = max(0, max_j x_j): y_i = exp(x_i - m) / (exp(-m) + Σ_j exp(x_j - m)).
    ### HINT np.maximum(0, ...) of the row's largest, keepdims=True, is m; the divisor is the row's sum plus exp of -m.
    ### BEGIN SOLUTION
    top = np.maximum(x.max(axis=-1, keepdims=True), 0.0)
    raised = np.exp(x - top)
    y = raised / (np.exp(-top) + raised.sum(axis=-1, keepdims=True))
    return y, y
    ### END SOLUTION


def softmax1_backward(dy, cache):
    """dy, dx: (..., K)   Returns dx."""
    ### HINT Raising x_j raises y_j and lowers all others of the row. What is left out falls, too: does the loss see it?
    ### HINT dx_j = Σ_i dy_i y_i (δ_ij - y_j) = y_j (dy_j - Σ_i dy_i y_i).
    ### HINT inner = (dy * y).sum(axis=-1, keepdims=True), and dx is y times (dy - inner).
    ### BEGIN SOLUTION
    y = cache
    return y * (dy - (dy * y).sum(axis=-1, keepdims=True))
    ### END SOLUTION


# %% [markdown]
# ## Heads in groups
#
# A group is a run of N / G heads: head n uses the key and the value of group n G // N. With 6 heads in 2 groups, heads
# 0, 1 and 2 have group 0. G = N is the attention that you know, and G = 1 has one key for all heads.
#
# Where all keys are padding the context is 0: there is nothing to be seen, and nothing is given.

# %%
def grouped_forward(q, k, v, mask):
    """q: (B, N, T, D)   k, v: (B, G, T, D)   mask: (B, 1, 1, T)   Returns context (B, N, T, D), cache."""
    ### HINT Heads of one group meet the same keys. Which axis of q can be split in two, so that k fits by broadcasting?
    ### HINT q as (B, G, N/G, T, D), k and v as (B, G, 1, T, D): S = q kᵀ / √D + mask, P = softmax₁(S), context = P v.
    ### HINT reshape q; k[:, :, None] and v[:, :, None] get an axis of 1, mask[:, None] too; at the end shape it like q.
    ### BEGIN SOLUTION
    B, N, T, D = q.shape
    heads = q.reshape(B, k.shape[1], N // k.shape[1], T, D)
    scores = heads @ k[:, :, None].swapaxes(-1, -2) / np.sqrt(D)
    probs, rows = softmax1_forward(scores + mask[:, None])
    context = probs @ v[:, :, None]
    return context.reshape(q.shape), (heads, k, v, probs, rows)
    ### END SOLUTION


def grouped_backward(dcontext, cache):
    """dcontext: (B, N, T, D)   Returns dq (B, N, T, D), dk, dv (B, G, T, D), and None for the mask, a constant."""
    ### HINT A key is used by each head of its group. What does that make of its gradient?
    ### HINT For each head dv = Pᵀ dcontext, dq = dS k / √D, dk = dSᵀ q / √D, dS by softmax₁; dk, dv: Σ over the group.
    ### HINT Split dcontext as forward split q; the heads of a group lie along axis 2, so dk and dv are summed over it.
    ### BEGIN SOLUTION
    heads, k, v, probs, rows = cache
    above = dcontext.reshape(heads.shape)
    dv = (probs.swapaxes(-1, -2) @ above).sum(axis=2)
    dprobs = above @ v[:, :, None].swapaxes(-1, -2)
    dscores = softmax1_backward(dprobs, rows) / np.sqrt(k.shape[-1])
    dq = dscores @ k[:, :, None]
    dk = (dscores.swapaxes(-1, -2) @ heads).sum(axis=2)
    return dq.reshape(dcontext.shape), dk, dv, None
    ### END SOLUTION


# %% [markdown]
# One check compares context and gradients with numbers of PyTorch's `scaled_dot_product_attention`, which was given
# `enable_gqa=True` and one token more than you are: its key is 0, its value is 0, and no mask hides it.
#
# ## Question
#
# Why does such a token make PyTorch's attention the same as yours? With the usual softmax one vector added to every key
# changes no probability: is that so here, and what does it say about the gradient of the key bias? ALBERT-base has 12
# heads, D = 64: how many numbers does a text's next word need of each earlier token's keys and values in one layer,
# with 12 groups and with 2, and what do groups not save?
