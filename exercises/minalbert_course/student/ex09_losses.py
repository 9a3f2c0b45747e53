# %% [markdown]
# # Exercise 9: losses and the tied decoder
#
# At the masked places, and only there, the model scores all $V$ words. From the encoder's output to the loss:
#
# $$\text{gather} \;\to\; \text{logits} = x\,\text{table}^\top + \text{bias} \;\to\;
# \text{loss} = \sum_i w_i (-\log p_i[\text{label}_i]) \Big/ \sum_i w_i, \qquad p = \mathrm{softmax}(\text{logits})$$
#
# The table is the word embedding itself: it is used at the model's two ends, so its gradient has two parts.
#
# B sequences, T tokens, P slots a sequence for predictions, V words, E numbers a word, H numbers a token. A slot
# without a prediction has weight 0, label 0 and position 0.
#
# A backward function is handed how the loss changes with forward's output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments, and None for whole numbers and
# constants. Do not write into arguments.

# %%
import numpy as np

# %% [markdown]
# ## Cross-entropy
#
# A weighted mean over the targets: the divisor is $\sum_i w_i$, not the number of slots. Weights are any numbers
# $\ge 0$. A batch without a single target (all weights 0) has loss 0 and gradient 0. Logits may be large: those
# near 3000 must not overflow, and where $p$ is so small that it is 0, $\log p$ is still finite.

# %%
def cross_entropy_forward(logits, labels, weights):
    """logits: (..., K)   labels: (...) whole numbers   weights: (...)   Returns loss, a number, and cache."""
    raise NotImplementedError("ex09: cross_entropy_forward is not written yet")


def cross_entropy_backward(dloss, cache):
    """dloss: a number   Returns dlogits (..., K), and None for labels and for weights."""
    raise NotImplementedError("ex09: cross_entropy_backward is not written yet")


# %% [markdown]
# ## Decoder
#
# Each word scores by how well its row of the table matches $x$.

# %%
def decoder_forward(x, table, bias):
    """x: (B, P, E)   table: (V, E)   bias: (V,)   Returns logits (B, P, V), cache."""
    raise NotImplementedError("ex09: decoder_forward is not written yet")


def decoder_backward(dlogits, cache):
    """dlogits: (B, P, V)   Returns dx (B, P, E), dtable (V, E), dbias (V,)."""
    raise NotImplementedError("ex09: decoder_backward is not written yet")


# %% [markdown]
# ## Gather
#
# Only the masked places go on: $y[b, p] = x[b, \text{positions}[b, p]]$. Several slots may point at one place.

# %%
def gather_forward(x, positions):
    """x: (B, T, H)   positions: (B, P) whole numbers   Returns y (B, P, H), cache."""
    raise NotImplementedError("ex09: gather_forward is not written yet")


def gather_backward(dy, cache):
    """dy: (B, P, H)   Returns dx (B, T, H), and None for positions."""
    raise NotImplementedError("ex09: gather_backward is not written yet")


# %% [markdown]
# ## The tied table
#
# At the start of the model $y[b, t] = \text{table}[\text{ids}[b, t]]$, and at its end logits = $x\,\text{table}^\top$
# + bias. Both pull at the same table.

# %%
def word_gradient(ids, dy, x, dlogits, vocab_size):
    """The whole gradient of the word table.

    ids: (B, T), words looked up   dy: (B, T, E), the gradient of what was looked up
    x: (B, P, E), what the decoder was given   dlogits: (B, P, V), the gradient of its output
    Returns dword (V, E), V = vocab_size.
    """
    raise NotImplementedError("ex09: word_gradient is not written yet")


# %% [markdown]
# Two checks come from outside: a model that knows nothing gives all $V$ words the same chance, so its loss is $\ln V$,
# 10.309 for ALBERT's 30000; and PyTorch has computed loss and gradients for a small tied table.
#
# ## Question
#
# A run's loss begins at 10.4, as it should, and falls to about 7 within a few hundred steps, where it stays for long.
# $\ln 30000$ is 10.309. What can a model have learnt that is at 7, without having looked at a single neighbour of a
# masked word? And what would a first loss of 30 tell you?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: loss 1, large logits 0.5, no target 0.5, dlogits 1.5, logits 1, decoder's gradients 1, gather 0.5,
# gather's dx 1, the tied table 1.5, ln V at first 0.5, as PyTorch 0.5, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex09`, and for a hint `minalbert exercise hint ex09`.

# %%
from minalbert_course import check

check("ex09", globals())
