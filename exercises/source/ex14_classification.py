# %% [markdown]
# # Exercise 14: a classification head
#
# Pretraining is over; now the model is to tell whether one sentence follows from another, or how alike two are, or
# which of four answers is right. All of these need one small head on the encoder, and a loss:
#
# $$\text{pooled} = \tanh(h\, W_p + b_p) \qquad \text{scores} = \mathrm{dropout}(\text{pooled})\, W + b$$
#
# $h$ is the state of [CLS], the token at place 0, after the **last** layer. The pooler ($W_p$, $b_p$) comes from
# pretraining; $W$ and $b$ are new.
#
# L layers, B sequences, T tokens, H numbers a token, K scores a sequence.
#
# A backward function is handed how the loss changes with forward's output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments, and None for labels and other
# constants. Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not write into
# arguments. The cache is your own, and is used once. From exercise 9, where scores are called `logits`, you have, with
# labels and weights of any shape (...):
#
#     loss, cache = cross_entropy_forward(scores, labels, weights)      a mean, in which each label has its weight
#     dscores, _, _ = cross_entropy_backward(dloss, cache)              where all weights are 0, loss and dscores are 0

# %%
import numpy as np

from minalbert.layers import cross_entropy_backward, cross_entropy_forward

# %% [markdown]
# ## Labels
#
# Files have labels as texts. A model has a list of their names, and its k-th score is that of the k-th name. Every
# program that uses the model must number labels by that list: MNLI's is contradiction, entailment, neutral, RTE's is
# entailment, not_entailment. Test files have no labels.

# %%
def label_numbers(labels, names):
    """labels: a list, not empty, each one of names, or None where there is none
    names: the task's labels, in the model's order

    Returns an array of whole numbers: the place of each label in names, counted from 0, and -1 for None.
    """
    ### HINT The order is that of the list you are given; the file's order and the alphabet's are others.
    ### HINT number = k where label = names[k], counted from 0; -1 where label is None.
    ### HINT A dict {name: number} by enumerate(names); .get(label, -1) for each label; np.array of that.
    ### BEGIN SOLUTION
    return np.array([-1 if label is None else names.index(label) for label in labels])
    ### END SOLUTION


# %% [markdown]
# ## The head
#
# Dropout is there in training alone: `kept` says which numbers of `pooled` stay (1) and which are dropped (0), whatever
# the rate. What stays is divided by $1 - \text{rate}$, so that its mean is as before. It is done once: the layers' own
# dropout has been done already, in the layers. In evaluation `kept` is None: then nothing is dropped and nothing
# divided, whatever the rate. Table 14 of the paper has a rate of 0.1 here, where most tasks have 0 in the layers.

# %%
def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    """layers: (L, B, T, H), what each layer returned, the first layer first
    pooler_w: (H, H)   pooler_b: (H,)   w: (H, K)   b: (K,)   kept: (B, H) of 0 and 1, or None   rate: a number

    Returns scores (B, K), cache.
    """
    ### HINT Which of layers, which token? Then a linear map, tanh, dropout, a linear map.
    ### HINT h: last layer, first token. pooled = tanh(h pooler_w + pooler_b), scores = pooled kept/(1 - rate) w + b.
    ### HINT np.tanh of the first linear map. Keep for backward: h, pooled, dropout's factor, what went into w.
    ### BEGIN SOLUTION
    first = layers[-1, :, 0]
    pooled = np.tanh(first @ pooler_w + pooler_b)
    scale = np.ones_like(pooled) if kept is None else kept / (1 - rate)
    x = pooled * scale
    return x @ w + b, (layers.shape, first, pooled, scale, x, pooler_w, w)
    ### END SOLUTION


def head_backward(dscores, cache):
    """dscores: (B, K)

    Returns dlayers (L, B, T, H), dpooler_w, dpooler_b, dw, db, and None for kept and for rate.
    """
    ### HINT Forward's four steps, the last one first. Of layers forward read one row a sequence: what of all others?
    ### HINT da = dscores wᵀ scale (1 - pooled²); dpooler_w = hᵀ da; dlayers is da pooler_wᵀ there, and 0 elsewhere.
    ### HINT dw is x.T @ dscores, the biases' are sums over axis 0; make zeros of layers' shape, and fill [-1, :, 0].
    ### BEGIN SOLUTION
    shape, first, pooled, scale, x, pooler_w, w = cache
    dw, db = x.T @ dscores, dscores.sum(axis=0)
    da = dscores @ w.T * scale * (1 - pooled**2)
    dlayers = np.zeros(shape)
    dlayers[-1, :, 0] = da @ pooler_w.T
    return dlayers, first.T @ da, da.sum(axis=0), dw, db, None, None
    ### END SOLUTION


# %% [markdown]
# ## One label of K
#
# The mean of $-\log p[\text{label}]$ over those that have a label; a negative one, -1 or -100, is none. Scores and
# labels may have more axes: (B, T, K) and (B, T) where each token has a label, and padding has none.

# %%
def label_loss_forward(scores, labels):
    """scores: (..., K)   labels: (...) int64, negative where there is none

    Returns loss, a number, and cache.
    """
    ### HINT Cross-entropy has weights. Which weight has an example without a label?
    ### HINT weight = 1 where labels ≥ 0, otherwise 0; there the label is anything that is allowed, such as 0.
    ### HINT A comparison, as floats, gives the weights. Times the labels, it makes an allowed 0 of -1.
    ### BEGIN SOLUTION
    there = labels >= 0
    return cross_entropy_forward(scores, labels * there, there.astype(scores.dtype))
    ### END SOLUTION


def label_loss_backward(dloss, cache):
    """dloss: a number   Returns dscores (..., K), and None for labels."""
    ### HINT Its pair has done the work.
    ### HINT dscores = dloss (p - onehot(label)) / (number of labels), and 0 where there is none.
    ### HINT cross_entropy_backward returns three gradients; the scores' is the first. Labels have none: None.
    ### BEGIN SOLUTION
    dscores, _, _ = cross_entropy_backward(dloss, cache)
    return dscores, None
    ### END SOLUTION


# %% [markdown]
# ## A number
#
# STS-B asks how alike two sentences are, from 0 to 5. The head is the same with K = 1, and the loss is the mean of
# $(\text{score} - \text{target})^2$. Look at the shapes before you subtract.

# %%
def number_loss_forward(scores, targets):
    """scores: (B, 1)   targets: (B,) numbers   Returns loss, a number, and cache."""
    ### HINT What shape has a column minus a row?
    ### HINT loss = Σ_i (scores[i, 0] - targets[i])² / B.
    ### HINT Take the column's numbers, scores[:, 0]; then subtract, square, mean. Backward needs the difference.
    ### BEGIN SOLUTION
    error = scores[:, 0] - targets
    return (error**2).mean(), error
    ### END SOLUTION


def number_loss_backward(dloss, cache):
    """dloss: a number   Returns dscores (B, 1), and None for targets."""
    ### HINT A square's derivative, and a mean's.
    ### HINT dscores[i, 0] = dloss 2 error_i / B.
    ### HINT 2 * dloss * error / len(error), with an axis more: [:, None].
    ### BEGIN SOLUTION
    error = cache
    return (2 * dloss / len(error) * error)[:, None], None
    ### END SOLUTION


# %% [markdown]
# ## One choice of C
#
# RACE asks which of four answers to a question is right. Each answer is a sequence of its own with its question, and
# the head gives it one score, K = 1. The C sequences of a question follow one another. Which of them is right is one
# label of C.

# %%
def choice_loss_forward(scores, labels):
    """scores: (B C, 1), B questions with C sequences each   labels: (B,), which of a question's C is right, or negative

    Returns loss, a number, and cache.
    """
    ### HINT The scores are there already; they only have to stand in rows, one for each question.
    ### HINT label_loss of scores as (B, C): row q has the scores of q C, q C + 1, ..., q C + C - 1.
    ### HINT scores.reshape(len(labels), -1) goes into label_loss_forward; keep the old shape for the way back.
    ### BEGIN SOLUTION
    loss, inner = label_loss_forward(scores.reshape(len(labels), -1), labels)
    return loss, (inner, scores.shape)
    ### END SOLUTION


def choice_loss_backward(dloss, cache):
    """dloss: a number   Returns dscores (B C, 1), and None for labels."""
    ### HINT The pair of what you called in forward, then the shape that scores had.
    ### HINT dscores = label_loss's dscores (B, C), written as (B C, 1).
    ### HINT label_loss_backward with label_loss_forward's cache; reshape its first result to what forward kept.
    ### BEGIN SOLUTION
    inner, shape = cache
    dscores, _ = label_loss_backward(dloss, inner)
    return dscores.reshape(shape), None
    ### END SOLUTION


# %% [markdown]
# One check comes from outside: `transformers` has computed scores, losses and gradients of its own heads on a small
# ALBERT, `AlbertForSequenceClassification` with three labels and with a number, and `AlbertForMultipleChoice`.
#
# ## Question
#
# Someone hands you a model that was fine-tuned on MNLI. On your dev set it is right in 7 % of the cases; whoever
# guesses is right in 33 %. What has happened, and why is 7 % a better sign than 33 %? What does the confusion matrix
# look like (rows: labels, columns: what the model says)? Why did nothing go wrong while that model was trained?
