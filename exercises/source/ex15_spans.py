# %% [markdown]
# # Exercise 15: an answer is a span of the text
#
# SQuAD's answers stand in the text itself. A model reads [CLS] question [SEP] text [SEP], and scores for every token
# whether the answer begins there, and whether it ends there. That is one linear map with two columns:
#
# $$\text{scores}[b, t] = h[b, t]\, W + b \qquad W: (H, 2)$$
#
# From these scores you make a loss, gradients, and in the end an answer in letters.
#
# B windows, T tokens, H numbers a token; `scores[..., 0]` is for starts and `scores[..., 1]` for ends. An end is the
# last token of the answer, not the one after it.
#
# A backward function is handed how the loss changes with forward's output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments, and None for what has no gradient.
# Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not write into arguments. The
# cache is your own, and is used once. From exercise 9, where scores are called `logits`, you have, with labels and
# weights of any shape (...):
#
#     loss, cache = cross_entropy_forward(scores, labels, weights)      a mean, in which each label has its weight
#     dscores, _, _ = cross_entropy_backward(dloss, cache)              where all weights are 0, loss and dscores are 0

# %%
import numpy as np

from minalbert.layers import cross_entropy_backward, cross_entropy_forward

# %% [markdown]
# ## Scores
#
# No answer stands in the question, in a separator or in padding. `barred` is true there; both scores are $-10^{30}$,
# whatever the map gives, so that softmax makes 0 of them. (With $-\infty$ a window that is barred everywhere would
# give NaN.) A score that does not depend on the state has no gradient.

# %%
def span_forward(hidden, w, b, barred):
    """hidden: (B, T, H)   w: (H, 2)   b: (2,)   barred: (B, T) bool   Returns scores (B, T, 2), cache."""
    ### HINT A linear map, and then for each token: its scores, or the number that stands for none.
    ### HINT scores[b, t] = hidden[b, t] w + b, or -1e30, twice, where barred[b, t].
    ### HINT np.where with barred[..., None], which has the axis of the two columns; keep hidden, w and barred.
    ### BEGIN SOLUTION
    scores = np.where(barred[..., None], -1e30, hidden @ w + b)
    return scores, (hidden, w, barred)
    ### END SOLUTION


def span_backward(dscores, cache):
    """dscores: (B, T, 2)   Returns dhidden (B, T, H), dw (H, 2), db (2,), and None for barred."""
    ### HINT A linear layer's three gradients. What comes through a barred place?
    ### HINT dscores = 0 where barred; then dhidden = dscores wᵀ, dw = Σ hidden dscores, db = Σ dscores over B, T.
    ### HINT Stop dscores as you barred scores; dw is one product of rows, by reshape(-1, ...); sum(axis=(0, 1)) for db.
    ### BEGIN SOLUTION
    hidden, w, barred = cache
    dscores = np.where(barred[..., None], 0.0, dscores)
    rows = hidden.reshape(-1, hidden.shape[-1])
    dw = rows.T @ dscores.reshape(-1, 2)
    return dscores @ w.T, dw, dscores.sum(axis=(0, 1)), None
    ### END SOLUTION


# %% [markdown]
# ## The loss
#
# A start is one label of T places, and so is an end: two cross-entropies, each with its softmax over the tokens, each
# a mean over the batch. The loss is the mean of the two.
#
# A long text is cut into several windows, so an answer may begin or end outside of a window. Then `spans` has a place
# that is not there, below 0 or T and above. (No answer begins or ends at a barred place.) Such a start, or end, counts
# for nothing: not in the sum, and not in what it is divided by. The other one of the two may count. Where no start of
# the batch counts, the mean over starts is 0, and so for ends.

# %%
def span_loss_forward(scores, spans):
    """scores: (B, T, 2)   spans: (B, 2) int64, first and last token   Returns loss, a number, and cache."""
    ### HINT What weight does cross-entropy need for a start that is not in the window?
    ### HINT loss = ½ (CE(scores[..., 0], starts) + CE(scores[..., 1], ends)), weight 1 where 0 ≤ place < T.
    ### HINT 0 ≤ place < T, for all of spans, as 0 or 1, is the weight; times spans, a label. Keep both caches.
    ### BEGIN SOLUTION
    inside = (spans >= 0) & (spans < scores.shape[1])
    labels, counted = spans * inside, inside.astype(scores.dtype)
    starts, of_starts = cross_entropy_forward(scores[..., 0], labels[:, 0], counted[:, 0])
    ends, of_ends = cross_entropy_forward(scores[..., 1], labels[:, 1], counted[:, 1])
    return (starts + ends) / 2, (of_starts, of_ends)
    ### END SOLUTION


def span_loss_backward(dloss, cache):
    """dloss: a number   Returns dscores (B, T, 2), and None for spans."""
    ### HINT The loss is a sum of two halves; each half has its own column.
    ### HINT dscores[..., 0] = cross-entropy's gradient of the starts with dloss / 2; [..., 1] that of the ends.
    ### HINT cross_entropy_backward(dloss / 2, cache[i]) returns three values; np.stack both first ones, axis=-1.
    ### BEGIN SOLUTION
    of_starts, of_ends = cache
    dstarts, _, _ = cross_entropy_backward(dloss / 2, of_starts)
    dends, _, _ = cross_entropy_backward(dloss / 2, of_ends)
    return np.stack([dstarts, dends], axis=-1), None
    ### END SOLUTION


# %% [markdown]
# ## The best span
#
# The best start and the best end, each found alone, need not be a span: the end may come first. Of all pairs with
# $\text{start} \le \text{end}$ and at most `longest` tokens, the first and the last included, take the one whose two
# scores have the largest sum, and of equal ones any.

# %%
def best_span(scores, longest):
    """scores: (T, 2) of one window   longest: a number of tokens   Returns start, end: whole numbers."""
    ### HINT Every pair is a candidate. T is small: a table of all sums is affordable.
    ### HINT The largest of scores[i, 0] + scores[j, 1] over i ≤ j < i + longest; sums may all be below 0.
    ### HINT sums[i, j] by broadcasting; -inf where j - i is below 0 or longest and above; np.unravel_index of argmax.
    ### BEGIN SOLUTION
    places = np.arange(len(scores))
    sums = scores[:, None, 0] + scores[None, :, 1]
    more = places[None, :] - places[:, None]
    sums = np.where((more >= 0) & (more < longest), sums, -np.inf)
    start, end = np.unravel_index(sums.argmax(), sums.shape)
    return int(start), int(end)
    ### END SOLUTION


# %% [markdown]
# ## From tokens to letters
#
# The answer is a piece of the text as it was given, with its capitals and spaces; tokens have lost these. The
# tokenizer says for each token of the text which characters it covers: the first, and the one past the last. In the
# window these tokens begin at `first`, behind [CLS], the question and [SEP].

# %%
def answer_text(text, places, first, start, end):
    """text: str   places: a list of (begin, past), characters of each of the text's tokens
    first: where in the window these tokens begin   start, end: a span of the window, not behind them

    Returns the answer, a piece of text; "" where the span begins before `first`, as at [CLS], which means no answer.
    """
    ### HINT Places are counted from the text's first token, the span from [CLS].
    ### HINT From where token start - first begins, to the character past token end - first.
    ### HINT places[start - first][0] is the piece's beginning; a negative index would count from the back.
    ### BEGIN SOLUTION
    if start < first:
        return ""
    begin, past = places[start - first][0], places[end - first][1]
    return text[begin:past]
    ### END SOLUTION


# %% [markdown]
# One check comes from outside: `transformers` has computed scores, loss and gradients of its
# `AlbertForQuestionAnswering` on a small ALBERT, for a batch in which one answer is outside of its window.
#
# ## Question
#
# Start and end are scored each for itself here. Think of the question "Where did she live?" and a text in which she
# lived in Paris and then in New York: what can go wrong, and why can no choice of W and b mend it, as long as the
# states of both look like an answer's? The head for SQuAD 2.0 has $4 H^2 + 7 H + 2$ numbers and scores ends after a
# given start: how does that help, and what does it cost when the best span is searched?
