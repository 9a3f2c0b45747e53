# %% [markdown]
# # Exercise 11: training
#
# All parts are there: a model with its gradients, an optimiser, data. Four functions make a training run of them:
# the rate of each step, the gradient of a batch that is too large for the memory, the loop itself, and the line at
# which the loss rests before the model has understood anything.
#
# `model` is the library's `Albert` (float64, no dropout), a batch is its `Batch` (B sequences of T tokens, P places for
# masked words, not all of them used: `batch.mlm_weights` (B, P) is 1 for a masked word, 0 for an unused place).
#
#     losses, grads = model.loss_and_grads(batch)     # losses.mlm, losses.sop, losses.total = mlm + sop
#     grads.flat, model.params.flat                   # each all numbers as one vector (n,), the names in one order
#
# `losses.mlm` is the mean over the batch's masked words, `losses.sop` the mean over its sequences.

# %%
import numpy as np

from minalbert import Totals
from minalbert.optim import AdamW, Moments, clip_factor, global_norm

# %% [markdown]
# ## The rate
#
# ALBERT's code has a linear rise and a linear fall, with two quirks. Let `step` count the updates done so far:
# 0, 1, ..., `steps - 1`.
#
# $$\text{rate} = \text{peak}\cdot\frac{\text{step}}{\text{warmup}} \quad\text{while step < warmup,}\qquad
# \text{rate} = \text{peak}\cdot\Bigl(1 - \frac{\text{step}}{\text{steps}}\Bigr) \quad\text{from then on}$$
#
# So the first update has rate 0, and the fall counts from step 0, not from the end of the warm-up: the rate drops
# where the one ends and the other begins. From `step = steps` on the rate is 0. `warmup` may be 0: no rise at all.

# %%
def learning_rate(step, steps, warmup, peak):
    """step: updates done so far, from 0   Returns the next update's rate, a number."""
    raise NotImplementedError("ex11: learning_rate is not written yet")


# %% [markdown]
# ## A batch in parts
#
# A batch of 4096 sequences does not fit the memory. Its gradient is a sum over sequences and words, so it can be had
# in parts, one after the other. `parts` is a list of `Batch`es, which differ in sequences, in length and in masked
# words; one may have no masked word at all. Return what the whole batch would give if it were one:
#
# $$\text{loss} = \frac{\sum_\text{all masked words} \ell_\text{word}}{\text{their number in all parts}} +
# \frac{\sum_\text{all sequences} \ell_\text{sequence}}{\text{their number in all parts}}$$
#
# and its gradient. `model.loss_and_grads(part, totals=Totals(targets, sequences))` divides the sum over the part's
# masked words by `targets` and that over its sequences by `sequences`, instead of by the part's own numbers. With
# `into=grads` it adds to the gradients `grads`, which `model.params.zeros_like()` makes.

# %%
def accumulate(model, parts):
    """parts: list of Batch   Returns the whole batch's total loss, a number, and its gradient (n,), as grads.flat."""
    raise NotImplementedError("ex11: accumulate is not written yet")


# %% [markdown]
# ## The loop
#
# For `step = 0, 1, ..., steps - 1`: take `batches[step % len(batches)]`, find losses and gradient, clip the gradient to
# a norm of 1 (over all of it; a shorter one stays as it is), and let AdamW change the weights, with your rate of this
# step. `AdamW()` has the settings we want. It changes weights and moments in place:
#
#     moments = Moments.zeros(model.params)
#     AdamW().step(model.params, grads, moments, rate, t, scale)      # t = 1, 2, 3, ...; scale multiplies the gradient
#
# `global_norm(grads)` is the gradient's norm; `clip_factor(norm, limit)` is 1 or less. Record each step's total loss
# as it was before the step.

# %%
def train(model, batches, steps, warmup, peak):
    """batches: list of Batch   Returns the total loss before each step: a list of `steps` numbers."""
    raise NotImplementedError("ex11: train is not written yet")


# %% [markdown]
# ## The plateau
#
# The first thing a model learns is which words are frequent. If it guesses each word with the probability with which
# it occurs, and nothing else, its MLM loss is the entropy of the frequencies:
#
# $$\text{loss} = -\sum_\text{words} p \log p \qquad p = \text{count} / \text{sum of all counts}$$
#
# with natural logarithms. A word that never occurs adds nothing. In a plot of the loss this is the line at which the
# curve rests for a while; below it, the model has begun to read the other words.

# %%
def unigram_loss(counts):
    """counts (V,): how often each word occurs   Returns a number."""
    raise NotImplementedError("ex11: unigram_loss is not written yet")


# %% [markdown]
# One check lets your loop run from the weights from which transformers' `AlbertForPreTraining` was trained by
# `torch.optim.AdamW`, on the same batches, and compares the losses.
#
# To see all this at work, train with functions of your own:
#
#     minalbert data build --tiny-worlds 20000 --out worlds
#     minalbert pretrain runs/mine --corpus worlds --with ex05_attention.py
#
# The first makes a corpus of 20,000 small stories, the second trains on it with what you wrote in exercise 5 in the
# place of the library's attention. `minalbert plot runs/mine` draws the loss, with the line of the plateau, where
# matplotlib is installed.
#
# ## Question
#
# You train with a new attention, and the MLM loss falls from log V to the entropy of the word frequencies within a
# hundred steps; there it stays for ever. Which parts of the model and of the loop must be right for the loss to come
# so far? Where would you look for the mistake, and why does it show at this line and not earlier?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: rise 1, fall 1, no warm-up, no end 0.5, loss of all parts 1, gradient of all parts 1.5, a part
# without masked words 0.5, one loss a step 0.5, losses of a run 2, as PyTorch 1, plateau 1.
#
# In a terminal: `minalbert exercise check ex11`, and for a hint `minalbert exercise hint ex11`.

# %%
from minalbert_course import check

check("ex11", globals())
