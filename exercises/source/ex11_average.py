# %% [markdown]
# # Exercise 11: training, with an average of the weights
#
# All parts are there: a model with its gradients, an optimiser, data. You make a training run of them whose rate stays
# high for most of the run, and beside it keep a moving average of the weights. At a high rate the weights go to and fro
# around a good place; their mean is nearer to it than the last of them, if the mean does not reach too far back. You
# measure both on texts that the model was not trained on, and look for good settings.
#
# `model` is the library's `Albert`, without dropout: float64 in the checks of single functions, float32 where
# `new_model` below makes it. A batch is its `Batch`: B sequences of T tokens, P places for masked words, not all of
# them used. `batch.mlm_weights` (B, P) is 1 for a masked word, 0 for an unused place.
#
#     losses, grads = model.loss_and_grads(batch)     # losses.mlm, losses.sop, losses.total = mlm + sop
#     model.params.flat                               # all weights as one vector (n,)
#
# `losses.mlm` is the mean over the batch's masked words, `losses.sop` the mean over its sequences. `model.params.flat`
# is the model's own memory: what you write into it are the model's weights from then on.

# %%
import numpy as np

from minalbert.optim import AdamW, Moments, clip_factor, global_norm
from minalbert_course.makers.small_language import held_out_batches, new_model, training_batches

# %% [markdown]
# ## The rate
#
# A rise, a plateau and a fall. Let `step` count the updates done so far: 0, 1, ..., `steps - 1`.
#
# $$\text{rate} = \begin{cases}
# \text{peak}\cdot(\text{step} + 1)/\text{warmup} & \text{step} < \text{warmup}\\
# \text{peak} & \text{until step} = d\\
# \text{peak}\cdot\bigl(1 - \sqrt{(\text{step} - d) / \text{decay}}\bigr) & \text{from then on}
# \end{cases} \qquad d = \text{steps} - \text{decay}$$
#
# From `step = steps` on the rate is 0. `steps` is 1 or more; `warmup` and `decay` may be 0, and together are `steps`
# at most.

# %%
def learning_rate(step, steps, warmup, decay, peak):
    """step: updates done so far, from 0   Returns the next update's rate, a number."""
    ### HINT Four stretches of the run, so three comparisons. In which order does nothing get divided by 0?
    ### HINT With d as above: peak·(step + 1)/warmup, then peak up to d, then peak·(1 - √((step - d)/decay)), then 0.
    ### HINT Ask for step >= steps first, then step < warmup, then step <= steps - decay; what is left is the fall.
    ### BEGIN SOLUTION
    if step >= steps:
        return 0.0
    if step < warmup:
        return peak * (step + 1) / warmup
    done = step - (steps - decay)
    return peak * (1 - np.sqrt(done / decay)) if done > 0 else peak
    ### END SOLUTION


# %% [markdown]
# ## The average
#
# The weights $w_1, w_2, \ldots, w_t$ after each step have a mean in which later ones count more:
#
# $$\text{average}_t = \frac{\sum_{i=1}^t \beta^{t-i}\, w_i}{\sum_{i=1}^t \beta^{t-i}}, \qquad 0 \le \beta < 1$$
#
# It reaches back some $1 / (1 - \beta)$ steps. After the first step it is $w_1$. Nobody keeps all weights: find how
# $\text{average}_t$ follows from $\text{average}_{t-1}$ and $w_t$. The divisor is $(1 - \beta^t)/(1 - \beta)$.

# %%
def moved_average(average, weights, t, beta):
    """average: (n,), of the weights after steps 1 to t - 1, and zeros for t = 1   weights: (n,), after step t

    Returns the average of those after steps 1 to t, (n,).
    """
    ### HINT Which share has the newest of t numbers in their mean? For t = 1 it is all of it, for large t it is 1 - β.
    ### HINT share = (1 - β) / (1 - βᵗ); average_t = (1 - share) average_{t-1} + share w_t.
    ### HINT A new array: the difference of the two, times that share, is added to the old average.
    ### BEGIN SOLUTION
    share = (1 - beta) / (1 - beta**t)
    return average + share * (weights - average)
    ### END SOLUTION


# %% [markdown]
# ## The loop
#
# For `step = 0, 1, ..., steps - 1`: take `batches[step % len(batches)]`, find losses and gradient, clip the gradient to
# a norm of 1 (over all of it; a shorter one stays as it is), let AdamW change the weights with your rate of this step,
# and move the average. `AdamW()` has the settings we want. It changes weights and moments in place:
#
#     moments = Moments.zeros(model.params)
#     AdamW().step(model.params, grads, moments, rate, t, scale)      # t = 1, 2, 3, ...; scale multiplies the gradient
#
# `global_norm(grads)` is the gradient's norm; `clip_factor(norm, limit)` is 1 or less. Record each step's total loss
# as it was before the step. The training goes on from the model's own weights, and never from the average. Each batch
# of a run has masked words.

# %%
def train(model, batches, steps, warmup, decay, peak, beta):
    """batches: list of Batch   Returns the total loss before each step, a list of `steps` numbers; the average (n,).

    Afterwards the model has the weights of the last step, and the list is as it was.
    """
    ### HINT What is made once for the whole run? And is the average an array of its own, or the model's?
    ### HINT Each step: losses, g -> c = min(1, 1/‖g‖) -> AdamW with rate(step), t = step + 1, c g -> average, same t.
    ### HINT Moments.zeros and a vector of zeros before the loop; in it, moved_average last, with model.params.flat.
    ### BEGIN SOLUTION
    optimiser, moments = AdamW(), Moments.zeros(model.params)
    losses, average = [], np.zeros_like(model.params.flat)
    for step in range(steps):
        before, grads = model.loss_and_grads(batches[step % len(batches)])
        losses.append(float(before.total))
        rate = learning_rate(step, steps, warmup, decay, peak)
        optimiser.step(model.params, grads, moments, rate, step + 1, clip_factor(global_norm(grads), 1.0))
        average = moved_average(average, model.params.flat, step + 1, beta)
    return losses, average
    ### END SOLUTION


# %% [markdown]
# ## The loss on other texts, with other weights
#
# What is the average worth? The model has to compute with it, for as long as it is measured. The loss is the mean over
# all masked words of all these batches together. `model.loss(batch)` gives the batch's losses without a gradient. The
# batches differ in masked words. One may have none, and its loss is 0; at least one has some.

# %%
def held_out_loss(model, batches, weights):
    """batches: list of Batch   weights: (n,), in the place of the model's own

    Returns the mean MLM loss of all masked words, a number. The model has its own weights again afterwards.
    """
    ### HINT Where can the model's own weights stay meanwhile, so that they are not written over?
    ### HINT own = a copy of params.flat; flat becomes weights; Σ losses.mlm · n / Σ n; flat becomes own.
    ### HINT flat[...] = writes into the model's memory; flat.copy() before it, n is mlm_weights.sum() of each batch.
    ### BEGIN SOLUTION
    own = model.params.flat.copy()
    model.params.flat[...] = weights
    total, words = 0.0, 0.0
    for batch in batches:
        count = float(batch.mlm_weights.sum())
        total, words = total + float(model.loss(batch).mlm) * count, words + count
    model.params.flat[...] = own
    return total / words
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
# | log 24 = 3.18 | how frequent the 24 words are |
# | log 6 = 1.79 | and the topic of the text |
# | log 3 = 1.10 | and the part: nobody can do better |
#
# Find settings with which your `train` brings the held-out MLM loss of the **average** to **1.5 or less**: a number of
# steps, 120 at most, a warm-up, a decay, a peak rate and a beta of **0.8 or more**. The check trains new models for
# languages that you have not seen, with your settings and the right loop. One with a loss of 1.3 or less is enough;
# otherwise it takes the mean of two losses. Some languages are hard: where a pair just misses, or one of the two
# reaches the target, three more pairs are tried, and two of these have to reach it. A good choice comes near 1.2. A
# beta that is usual for runs of a hundred thousand steps will not do here.

# %%
def settings():
    """Returns steps, warmup, decay, peak, beta: the settings that you found."""
    ### HINT How many of the last steps should the average hold, if the model still learns in each?
    ### HINT Compare the loss of the average and of the last weights: where the average is worse, beta is too near 1.
    ### HINT All of the steps, a fifth of them each for rise and fall, a peak of about a hundredth, a beta below 0.95.
    ### BEGIN SOLUTION
    return 120, 24, 24, 0.01, 0.9
    ### END SOLUTION


# %% [markdown]
# ## The sweep
#
# A run takes about half a second. The cell below makes six, and draws nothing: change it into the sweep that you need.
# In a Python file it runs with `python ex11_average.py`; a check leaves it out.

# %%
if __name__ == "__main__":
    for decay in (0, 40):
        for beta in (0.8, 0.95, 0.99):
            model = new_model(0)
            _, average = train(model, training_batches(0), 120, 20, decay, 0.003, beta)
            last, mean = (held_out_loss(model, held_out_batches(0), w) for w in (model.params.flat.copy(), average))
            print(f"decay {decay:2d}   beta {beta:.2f}   held-out MLM loss: last {last:.2f}, average {mean:.2f}")

# %% [markdown]
# Write it up, for three points, in some ten lines: a table of at least eight settings, each with two languages or more
# and all losses, of the last weights and of the average; what happens at too low a rate, at too high a rate, and with a
# beta too near 1; why you chose your settings; and what your table cannot tell.

# %% [markdown]
# *Your answer:*

# %% [markdown]
# One check lets your loop run from the weights from which transformers' `AlbertForPreTraining` was trained by
# `torch.optim.AdamW`, on the same batches, with an `AveragedModel` of PyTorch beside it, and compares the losses.
#
# ## Question
#
# A run has a constant rate, and near its end the average of its weights has a lower held-out loss than the last
# weights. A second run lets its rate fall to 0 in its last fifth, and there the average is no better. Why does the
# average help in the one run and not in the other? Why is the mean of the weights of two runs from different first
# weights useless, and that of neighbouring steps not? What does the average cost in memory and in time?
