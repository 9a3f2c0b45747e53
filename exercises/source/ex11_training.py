# %% [markdown]
# # Exercise 11: training
#
# All parts are there: a model with its gradients, an optimiser, data. Four functions make a training run of them:
# the rate of each step, the gradient of a batch that is too large for the memory, the loop itself, and the line at
# which the loss rests before the model has understood anything. Then you make runs: you measure a model on texts that
# it was not trained on, look for good settings, bring the loss below a target, and write down what you found.
#
# `model` is the library's `Albert`, without dropout: float64 in the checks of single functions, float32 where
# `new_model` below makes it. A batch is its `Batch`: B sequences of T tokens, P places for masked words, not all of
# them used. `batch.mlm_weights` (B, P) is 1 for a masked word, 0 for an unused place.
#
#     losses, grads = model.loss_and_grads(batch)     # losses.mlm, losses.sop, losses.total = mlm + sop
#     grads.flat, model.params.flat                   # each all numbers as one vector (n,), the names in one order
#
# `losses.mlm` is the mean over the batch's masked words, `losses.sop` the mean over its sequences.

# %%
import numpy as np

from minalbert import Totals
from minalbert.optim import AdamW, Moments, clip_factor, global_norm
from minalbert_course.makers.small_language import held_out_batches, new_model, training_batches

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
# where the one ends and the other begins. From `step = steps` on the rate is 0. `steps` is 1 or more;
# `warmup` is at most `steps`, and may be 0: no rise at all.

# %%
def learning_rate(step, steps, warmup, peak):
    """step: updates done so far, from 0   Returns the next update's rate, a number."""
    ### HINT Two straight lines, and one comparison that chooses between them. What does warmup = 0 do to each?
    ### HINT step < warmup: peak·step/warmup; else peak·(1 - step/steps), which must not fall below 0.
    ### HINT Compare step with warmup first: then warmup = 0 never divides. In the fall, max with 0 ends it at 0.
    ### BEGIN SOLUTION
    if step < warmup:
        return peak * step / warmup
    return peak * max(0.0, 1 - step / steps)
    ### END SOLUTION


# %% [markdown]
# ## A batch in slices
#
# A batch of 4096 sequences does not fit the memory. Its gradient is a sum over sequences and words, so it can be
# computed in slices, one after the other. `slices` is a list of `Batch`es, which differ in sequences, in length and
# in masked words; some may have no masked word at all, but never all of them. Return what the whole batch would give if
# it were one:
#
# $$\text{loss} = \frac{\sum_\text{all masked words} \ell_\text{word}}{\text{their number in all slices}} +
# \frac{\sum_\text{all sequences} \ell_\text{sequence}}{\text{their number in all slices}}$$
#
# and its gradient. `model.loss_and_grads(batch, totals=Totals(targets, sequences))` divides the sum over the slice's
# masked words by `targets` and that over its sequences by `sequences`, instead of by the slice's own numbers. With
# `into=grads` it adds to the gradients `grads`, which `model.params.zeros_like()` makes. Neither the model nor the
# slices change.

# %%
def accumulate(model, slices):
    """slices: list of Batch   Returns the whole batch's total loss, a number, and its gradient (n,), as grads.flat."""
    ### HINT A mean of means is no mean where the counts differ. What must each slice's sum be divided by?
    ### HINT targets = Σ over slices of mlm_weights.sum(), sequences = Σ over slices of B; then add losses and grads.
    ### HINT Count in a first loop, compute in a second: zeros_like once, then slices with into= and totals=.
    ### BEGIN SOLUTION
    targets = sum(float(batch.mlm_weights.sum()) for batch in slices)
    sequences = sum(len(batch.sop_labels) for batch in slices)
    loss, grads = 0.0, model.params.zeros_like()
    for batch in slices:
        losses, grads = model.loss_and_grads(batch, into=grads, totals=Totals(targets, sequences))
        loss += float(losses.total)
    return loss, grads.flat
    ### END SOLUTION


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
# as it was before the step. Each batch of a run has masked words.

# %%
def train(model, batches, steps, warmup, peak):
    """batches: list of Batch   Returns the total loss before each step: a list of `steps` numbers.

    Afterwards the model has the weights of the last step, and the list is as it was.
    """
    ### HINT What is made once for the whole run, what again in each step? The moments remember, the gradients must not.
    ### HINT Each step: losses, g -> record the loss -> c = min(1, 1/‖g‖) -> AdamW with rate(step), t = step + 1, c g.
    ### HINT Moments.zeros before the loop. In it: loss_and_grads, append, clip_factor of global_norm, step.
    ### BEGIN SOLUTION
    moments, optimiser, found = Moments.zeros(model.params), AdamW(), []
    for step in range(steps):
        losses, grads = model.loss_and_grads(batches[step % len(batches)])
        found.append(float(losses.total))
        scale = clip_factor(global_norm(grads), 1.0)
        rate = learning_rate(step, steps, warmup, peak)
        optimiser.step(model.params, grads, moments, rate, step + 1, scale)
    return found
    ### END SOLUTION


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
    ### HINT Where p is 0, log p is -infinity, and 0 times infinity is not a number. Who may be left out?
    ### HINT p = counts / Σ counts; the sum -Σ p log p runs over the words with p > 0.
    ### HINT Keep the counts above 0 by a mask, divide by the sum of all, then np.log; the sum of the products, negated.
    ### BEGIN SOLUTION
    p = counts[counts > 0] / counts.sum()
    return -(p * np.log(p)).sum()
    ### END SOLUTION


# %% [markdown]
# ## The loss on other texts
#
# The loss on the training texts says what a model knows by heart, too. So a run is measured on batches that it was not
# trained on: the MLM loss, as the mean over all masked words of all these batches together. `model.loss(batch)` gives
# the batch's losses without a gradient. The batches differ in masked words. One may have none, and
# its loss is 0; at least one has some.

# %%
def held_out_loss(model, batches):
    """batches: list of Batch   Returns the mean MLM loss of all masked words, a number. Both stay as they are."""
    ### HINT Each batch gives a mean over its own masked words. Which weight does it have among the others?
    ### HINT Σ losses.mlm · n / Σ n, where n is the number of the batch's masked words.
    ### HINT Count each batch's words with mlm_weights.sum(), multiply its mlm by that, and divide both sums at the end.
    ### BEGIN SOLUTION
    words = [float(batch.mlm_weights.sum()) for batch in batches]
    sums = [float(model.loss(batch).mlm) * n for batch, n in zip(batches, words, strict=True)]
    return sum(sums) / sum(words)
    ### END SOLUTION


# %% [markdown]
# ## A run with a target
#
# `new_model(language)` makes a model of 2 layers and 16 columns, `training_batches(language)` 640 texts of 8 words as
# 20 batches, and `held_out_batches(language)` 128 others. `language` is any whole number: another number is another
# language, of the same kind. Each text has one of four topics. A topic has three words for the first part of a text
# and three for the second, and SOP asks whether the parts were swapped. What the losses on other texts mean:
#
# | MLM loss | the model knows |
# |---|---|
# | log 24 = 3.18 | how frequent the 24 words are: the plateau |
# | log 6 = 1.79 | and the topic of the text |
# | log 3 = 1.10 | and the part: nobody can do better |
#
# Find a number of steps, 200 at most, a warm-up and a peak rate with which your `train` brings the held-out MLM loss
# to **1.5 or less**. The check trains new models for languages that you have not seen, with your settings and the right
# loop. One with a loss of 1.3 or less is enough; otherwise it takes the mean of two losses. Some languages are hard:
# where a pair just misses, or one of the two reaches the target, three more pairs are tried, and two of these have to
# reach it. A good choice comes near 1.1.

# %%
def settings():
    """Returns steps, warmup, peak: the settings that you found."""
    ### HINT Too low a rate stays near the plateau for want of time. What does too high a rate do?
    ### HINT Try rates that differ by a factor of three or so, each with a short and with a long warm-up.
    ### HINT All of the steps that you may have, a warm-up of a tenth to a third of them, and a peak of some hundredths.
    ### BEGIN SOLUTION
    return 200, 40, 0.02
    ### END SOLUTION


# %% [markdown]
# ## The sweep
#
# A run takes about a second. The cell below makes six, and draws nothing: change it into the sweep that you need. In a
# Python file it runs with `python ex11_training.py`; a check leaves it out.

# %%
if __name__ == "__main__":
    for warmup in (0, 20):
        for peak in (0.001, 0.003, 0.01):
            model = new_model(0)
            train(model, training_batches(0), 200, warmup, peak)
            found = held_out_loss(model, held_out_batches(0))
            print(f"warmup {warmup:3d}   peak {peak:.3f}   held-out MLM loss {found:.2f}")

# %% [markdown]
# Write it up, for three points, in some ten lines: a table of at least eight settings, each with two languages or more
# and all losses, not only the best; what happens at too low a rate, at too high a rate, and without a warm-up; why you
# chose your settings; and what your table cannot tell.

# %% [markdown]
# *Your answer:*

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
