# %% [markdown]
# # Exercise 9: smoothed labels and the tied decoder
#
# At the masked places, and only there, the model scores all $V$ words. From the encoder's output to the loss:
#
# $$\text{gather} \;\to\; \text{logits} = x\,\text{table}^\top + \text{bias} \;\to\;
# \text{loss} = \sum_i w_i \Big(-\sum_j q_{ij} \log p_{ij}\Big) \Big/ \sum_i w_i, \qquad
# p = \mathrm{softmax}(\text{logits})$$
#
# The table is the word embedding itself: it is used at the model's two ends, so its gradient has two parts.
#
# B sequences, T tokens, P slots a sequence for predictions, V words, E numbers a word, H numbers a token. A slot
# without a prediction has weight 0, label 0 and position 0.
#
# A backward function is handed how the loss changes with forward's output, and whatever you put into `cache`; it
# returns how the loss changes with each input, in the order of forward's arguments, and None for whole numbers and
# constants. Arrays may be transposed, or parts of larger ones: then `reshape` may return a copy. Do not write into
# arguments, nor into arrays that forward was given, nor into its result. The cache is your own, and is used once.

# %%
import numpy as np

# %% [markdown]
# ## Cross-entropy with smoothed labels
#
# The usual target of a slot is all on its label. Smoothing by $s$ takes the share $s$ from it and gives it to all
# $K$ words alike, the label among them:
#
# $$q_{ij} = (1 - s)\,[\,j = \text{label}_i\,] + s / K$$
#
# The loss is a weighted mean over the targets: the divisor is $\sum_i w_i$, not the number of slots. Weights are any
# numbers $\ge 0$. A batch without a single target (all weights 0) has loss 0 and gradient 0. Logits may be large:
# those near 3000 must not overflow, and where $p$ underflows to 0, $\log p$ must still be right.

# %%
def smoothed_loss_forward(logits, labels, weights, smoothing):
    """logits: (..., K)   labels: (...) int64   weights: (...)   smoothing: s, a number, 0 <= s < 1

    Returns loss, a number, and cache.
    """
    ### HINT Every word has a part in the loss now, not the label alone. Which mean over all words is the second part?
    ### HINT -Σ_j q_j log p_j = -(1 - s) log p[label] - s mean_j log p_j, with log p = x - m - log Σ exp(x - m).
    ### HINT Make q by hand: s / K everywhere, 1 - s more at each label (np.eye). Sum q log_p over the last axis.
    ### BEGIN SOLUTION
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    K = logits.shape[-1]
    q = (1 - smoothing) * np.eye(K)[labels] + smoothing / K
    total = weights.sum()
    share = weights / total if total > 0 else np.zeros_like(weights)
    loss = -(share * (q * log_p).sum(axis=-1)).sum()
    return loss, (log_p, q, share)
    ### END SOLUTION


def smoothed_loss_backward(dloss, cache):
    """dloss: a number   Returns dlogits (..., K), and None for labels and for weights; nothing for smoothing."""
    ### HINT Softmax and logarithm together have a very short gradient, whatever the targets, if these sum to one.
    ### HINT dlogits_i = dloss (p_i - q_i) w_i / Σ w.
    ### HINT p is the exponential of what forward kept; the difference from q, times each slot's share and dloss.
    ### BEGIN SOLUTION
    log_p, q, share = cache
    dlogits = (np.exp(log_p) - q) * (dloss * share)[..., None]
    return dlogits, None, None
    ### END SOLUTION


# %% [markdown]
# ## Decoder
#
# Each word scores by how well its row of the table matches $x$.

# %%
def decoder_forward(x, table, bias):
    """x: (B, P, E)   table: (V, E)   bias: (V,)   Returns logits (B, P, V), cache."""
    ### HINT A linear map; its matrix is the table, turned round.
    ### HINT logits = x tableᵀ + bias. Backward will need x and the table.
    ### HINT x (B, P, E) times the transposed table (E, V) with @, plus the bias (V,). The cache is a pair.
    ### BEGIN SOLUTION
    logits = x @ table.T + bias
    return logits, (x, table)
    ### END SOLUTION


def decoder_backward(dlogits, cache):
    """dlogits: (B, P, V)   Returns dx (B, P, E), dtable (V, E), dbias (V,)."""
    ### HINT A linear layer's three gradients. Which axes do the shapes of table and bias not have?
    ### HINT dx = dlogits table, dtable = dlogitsᵀ x, dbias = Σ dlogits; the last two sum over B and P.
    ### HINT drows = dlogits.reshape(-1, V), rows = x.reshape(-1, E): drows.T @ rows, drows.sum(0), dlogits @ table.
    ### BEGIN SOLUTION
    x, table = cache
    rows, drows = x.reshape(-1, x.shape[-1]), dlogits.reshape(-1, dlogits.shape[-1])
    dtable = drows.T @ rows
    return dlogits @ table, dtable, drows.sum(axis=0)
    ### END SOLUTION


# %% [markdown]
# ## Gather
#
# Only the masked places go on: $y[b, p] = x[b, \text{positions}[b, p]]$. Several slots may point at one place.

# %%
def gather_forward(x, positions):
    """x: (B, T, H)   positions: (B, P) int64   Returns y (B, P, H), cache."""
    ### HINT Every sequence has positions of its own, so two indices are needed: which sequence, which place.
    ### HINT y[b, p] = x[b, positions[b, p]], with b of shape (B, 1) beside positions (B, P).
    ### HINT x[np.arange(B)[:, None], positions]; backward needs positions, and x's shape.
    ### BEGIN SOLUTION
    y = x[np.arange(len(x))[:, None], positions]
    return y, (positions, x.shape)
    ### END SOLUTION


def gather_backward(dy, cache):
    """dy: (B, P, H)   Returns dx (B, T, H), and None for positions."""
    ### HINT Rows are added where they came from. What if two come from the same place, and what if none does?
    ### HINT Start from zeros; dx[b, positions[b, p]] += dy[b, p] for every b and p.
    ### HINT dx[index] += dy keeps only one of several: np.add.at(dx, (np.arange(B)[:, None], positions), dy) adds all.
    ### BEGIN SOLUTION
    positions, shape = cache
    dx = np.zeros(shape, dy.dtype)
    np.add.at(dx, (np.arange(shape[0])[:, None], positions), dy)
    return dx, None
    ### END SOLUTION


# %% [markdown]
# ## The tied table
#
# At the start of the model $y[b, t] = \text{table}[\text{ids}[b, t]]$, and at its end logits = $x\,\text{table}^\top$
# + bias. Both pull at the same table.

# %%
def word_gradient(ids, dy, x, dlogits, vocab_size):
    """The whole gradient of the word table.

    ids: (B, T) int64, words looked up   dy: (B, T, E), the gradient of what was looked up
    x: (B, P, E), what the decoder was given   dlogits: (B, P, V), the gradient of its output
    Returns dword (V, E), V = vocab_size.
    """
    ### HINT If something is used twice, how does the loss change with it?
    ### HINT The sum of both parts: dword[ids[b, t]] += dy[b, t] for every token, and the decoder's dlogitsᵀ x.
    ### HINT Zeros (V, E), np.add.at for the tokens, and an einsum over b and p that leaves v and e; add both.
    ### BEGIN SOLUTION
    dword = np.zeros((vocab_size, dy.shape[-1]), dy.dtype)
    np.add.at(dword, ids, dy)
    return dword + np.einsum("bpv,bpe->ve", dlogits, x)
    ### END SOLUTION


# %% [markdown]
# Two checks come from outside: a model that knows nothing gives all $V$ words the same chance, so its loss is $\ln V$,
# 10.309 for ALBERT's 30000, with smoothing, too; and PyTorch has computed loss and gradients for a small tied table,
# with `label_smoothing`.
#
# ## Question
#
# With smoothing the loss cannot reach 0. Which p is the best one for a target, and how large is the loss there, for
# 30000 words and s = 0.1? By how much must the label's logit then be above the others, and by how much without
# smoothing? Two runs are compared by their training losses, one with smoothing and one without: what is wrong there?
