# %% [markdown]
# # 4. Attention, and the way back through it
#
# Each token's query is compared with every token's key, and the resulting weights mix the values. Forward takes five
# lines. Backward takes five more, and two of its results look like mistakes until one has seen why: the rows of one
# gradient always sum to zero, and one bias of every attention layer never learns anything. Here every matrix is small
# enough to be looked at.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import numpy as np

from minalbert.gradcheck.numeric import gradient
from minalbert.layers import (
    attention_backward,
    attention_forward,
    attention_probs,
    multi_head_backward,
    multi_head_forward,
)
from minalbert.plots import explorer, head_grid, matrices

tokens = ["the", "cat", "saw", "a", "dog"]
q = np.array([[2, 0], [0, 2], [2, -1], [1, 0], [0, 2]], float)  # queries, what a token looks for: a noun, an article
k = np.array([[0, 2], [2, 0], [-1, 0], [0, 1], [2, 1]], float)  # keys, what it is: the same two
v = np.array([[1, 0], [0, 2], [1, 1], [-1, 0], [0, -1]], float)  # values, what it passes on: two other numbers
T, D = q.shape

# %% [markdown]
# ## Forward
#
# Each token has a *query* q, a *key* k and a *value* v, D numbers each, which the layer makes from its input. The score
# of token $i$ for token $j$ is the dot product of $i$'s query and $j$'s key. Softmax turns a row of scores into
# probabilities, the shares that sum to one, and the context is the mean of the values with these shares as weights:
#
# $$\begin{aligned}
# S &= \frac{q\,k^\top}{\sqrt{D}} + \text{mask} \\[1em]
# P &= \mathrm{softmax}(S) \qquad \text{context} = P\,v
# \end{aligned}$$
#
# Why $\sqrt{D}$? If the numbers in q and k are independent, with mean 0 and variance 1, a sum of D products has
# variance D. Divided by $\sqrt{D}$, the scores keep variance 1 however wide a head is, and softmax does not begin with
# all its weight on one token.
#
# In the two pictures below, read a row: *the* looks for a noun and has a score of 2.83 with both nouns; each gets a
# share of 0.47. *cat* looks for an article, and gives the largest share to *the*, its own. (Blue is above zero, orange
# below.)


# %%
def softmax(x):
    y = np.exp(x - x.real.max(axis=-1, keepdims=True))  # .real: we shall feed complex numbers, too
    return y / y.sum(axis=-1, keepdims=True)


def forward(q, k, v, mask=0.0):
    S = q @ k.T / np.sqrt(q.shape[1]) + mask
    P = softmax(S)
    return S, P, P @ v


S, P, context = forward(q, k, v)
print(f"the asks cat: {q[0] @ k[1]:.0f} / √2 = {S[0, 1]:.2f}, share {P[0, 1]:.2f}")

columns, asked = ["1", "2"], ["noun", "article"]
matrices([{"name": "q", "values": q, "rows": tokens, "columns": asked}, "@",
          {"name": "kᵀ", "values": k.T, "rows": asked, "columns": tokens}, "/ √2 =",
          {"name": "S", "values": S, "rows": tokens, "columns": tokens}])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(S[0, [1, 4]], 2.83, atol=0.005)
assert np.allclose(P[0, [1, 4]], 0.466, atol=0.005)
assert P[1, 0] > 0.5
assert np.allclose(P.sum(axis=1), 1)

# %%
matrices([{"name": "P = softmax(S)", "values": P, "rows": tokens, "columns": tokens}, "@",
          {"name": "v", "values": v, "rows": tokens, "columns": columns}, "=",
          {"name": "context", "values": context, "rows": tokens, "columns": columns}])  # fmt: skip

# %% [markdown]
# ## Backward
#
# We are given `dcontext`, the gradient of the loss with respect to the context, and go through the lines from the last
# to the first.
#
# *context = P v* is a matrix product. The gradient of each factor is the product's gradient times the other factor,
# transposed:
#
# $$dv = P^\top\, d\text{context} \qquad dP = d\text{context}\; v^\top$$
#
# *P = softmax(S)*, row by row. Raising $S_{ij}$ raises $P_{ij}$ and lowers the rest of the row:
# $\partial P_{il} / \partial S_{ij} = P_{il}(\delta_{lj} - P_{ij})$. Summed over all the ways in which $S_{ij}$ reaches
# the loss:
#
# $$dS_{ij} = P_{ij}\Big(dP_{ij} - \sum_l P_{il}\, dP_{il}\Big)$$
#
# *S = q kᵀ / √D* is a product again, with the constant factor again:
#
# $$dq = dS\, k / \sqrt{D} \qquad dk = dS^\top q / \sqrt{D}$$


# %%
def backward(dcontext, q, k, v, P):
    dv = P.T @ dcontext  # forward: context = P v
    dP = dcontext @ v.T
    dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))  # forward: P = softmax(S)
    dq = dS @ k / np.sqrt(q.shape[1])  # forward: S = q kᵀ / √D
    dk = dS.T @ q / np.sqrt(q.shape[1])
    return dP, dS, dq, dk, dv


dcontext = np.array([[1, 0], [0, 1], [-1, 1], [0.5, 0], [1, -1]])
dP, dS, dq, dk, dv = backward(dcontext, q, k, v, P)

# Is it right? Move one number after the other and watch the loss, whose gradient with respect to context is dcontext.
tensors = {"q": q, "k": k, "v": v}
apart = {}
print("    largest  by moving it  difference")
for name, ours in {"q": dq, "k": dk, "v": dv}.items():
    found = gradient(lambda t: (forward(**t)[2] * dcontext).sum(), tensors, name, "complex")
    apart[name] = np.abs(ours - found).max()
    print(f"d{name}{np.abs(ours).max():9.2f}{np.abs(found).max():14.2f}{apart[name]:12.0e}")

matrices([{"name": "dcontext", "values": dcontext, "rows": tokens, "columns": columns}, "@",
          {"name": "vᵀ", "values": v.T, "rows": columns, "columns": tokens}, "=",
          {"name": "dP", "values": dP, "rows": tokens, "columns": tokens}])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(apart.values()) < 1e-12

# %% [markdown]
# dP is the gradient of each share by itself. But a share cannot grow by itself: the row sums to one. Softmax's backward
# pass subtracts the row's weighted mean, and multiplies what is left by P. **Each row of dS sums to zero:** raise all
# scores of a row by the same amount and nothing happens, so the gradient has no part in that direction.
#
# Where P is nearly zero, so is dS: a token that has hardly any share gets hardly any gradient, however useful it would
# be. Then the last step: dS says which scores should fall (blue: we go *down* the gradient) and which rise (orange),
# and q, k and v get their gradients.

# %%
sums = dS.sum(axis=1, keepdims=True)
print(f"largest |row sum| of dS: {np.abs(sums).max():.4f}")

matrices([{"name": "P", "values": P, "rows": tokens, "columns": tokens}, "and",
          {"name": "dP", "values": dP, "columns": tokens}, "give",
          {"name": "dS", "values": dS, "columns": tokens}, {"name": "row sums", "values": sums}])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.abs(sums).max() < 1e-14
assert np.abs(dP.sum(axis=1)).max() > 1  # dP has no such property

# %%
matrices([{"name": "dS", "values": dS, "rows": tokens, "columns": tokens}, "@",
          {"name": "k", "values": k, "rows": tokens, "columns": asked}, "/ √2 =",
          {"name": "dq", "values": dq, "rows": tokens, "columns": asked}])  # fmt: skip

# %%
matrices([{"name": "dSᵀ", "values": dS.T, "rows": tokens, "columns": tokens}, "@",
          {"name": "q", "values": q, "columns": asked}, "/ √2 =", {"name": "dk", "values": dk, "columns": asked},
          "    ", {"name": "Pᵀ", "values": P.T, "columns": tokens}, "@",
          {"name": "dcontext", "values": dcontext, "columns": columns}, "=",
          {"name": "dv", "values": dv, "columns": columns}])  # fmt: skip

# %% [markdown]
# ## The key bias learns nothing
#
# Look at dk: its columns sum to zero. In the model $k = x\,w_k + b_k$, and the gradient of $b_k$ is that sum:
#
# $$db_k = \sum_j dk_j = \frac{1}{\sqrt{D}} \sum_i q_i \sum_j dS_{ij} = 0$$
#
# A bias adds the same vector to all keys. That adds $q_i \cdot b_k / \sqrt{D}$ to *all* scores of row $i$, which does
# not change the softmax. The query bias adds $k_j \cdot b_q / \sqrt{D}$, which differs from key to key: it does learn.

# %%
shifted = forward(q, k + np.array([5.0, -3.0]), v)[1]
print(f"keys + (5, −3) change the shares by {np.abs(shifted - P).max():.4f}")
print("sum of dk:", [f"{abs(number):.4f}" for number in dk.sum(axis=0)])
print("sum of dq:", [f"{number:.4f}" for number in dq.sum(axis=0)])

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(shifted, P, rtol=0, atol=1e-12)
assert np.abs(dk.sum(axis=0)).max() < 1e-14
assert np.abs(dq.sum(axis=0)).min() > 0.1

# %% [markdown]
# In floating point the sum is some $10^{-16}$, not zero. A gradient check that divides the difference by the gradient,
# entry by entry, would report a large error there, in code that is right.
#
# ## Padding
#
# Sentences of a batch are filled up to the same length. Suppose *dog* is padding. The mask adds −10000 to its column:
# $e^{-10000}$ is 0 in float32 and float64, so its share is exactly 0, and so are the rows of dk and dv that belong to
# it. It still has a query. But no loss reads its context, so its row of dcontext is zero, and with it its row of dq.
#
# Why −10000 and not −∞? If a whole row is masked, −10000 cancels like any constant. With −∞ the largest score of the
# row is −∞, and −∞ − (−∞) is not a number. (With queries and keys large enough a score is more than 10000, and padding
# shows. The library's `key_mask` takes half of the lowest number there is, and reads a sequence that is all padding as
# if none of it were.)

# %%
real = np.array([1, 1, 1, 1, 0])
mask = np.where(real, 0, -10000.0)[None]  # (1, T): 0 for a token, -10000 for padding
padded_S, padded_P, _ = forward(q, k, v, mask)
read = dcontext * real[:, None]
_, _, padded_dq, padded_dk, padded_dv = backward(read, q, k, v, padded_P)

finite = forward(q, k, v, np.full((1, T), -10000.0))[1]
with np.errstate(invalid="ignore"):
    infinite = forward(q, k, v, np.full((1, T), -np.inf))[1]
print("the shares of a row that is all masked")
print("with −10000:", finite[0].round(2))
print("with −∞:    ", infinite[0])

names = [*tokens[:4], "[PAD]"]
matrices([{"name": "S + mask", "values": padded_S, "rows": names, "columns": names, "largest": 3}, "softmax",
          {"name": "P", "values": padded_P, "columns": names}, "    ",
          {"name": "dq", "values": padded_dq, "rows": names, "columns": asked},
          {"name": "dk", "values": padded_dk, "columns": asked},
          {"name": "dv", "values": padded_dv, "columns": columns}])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert (padded_P[:, 4] == 0).all()
assert not padded_dk[4].any()
assert not padded_dv[4].any()
assert not padded_dq[4].any()
assert np.allclose(finite, P, rtol=0, atol=1e-9)
assert np.isnan(infinite).all()

# %% [markdown]
# ## All of it, to click
#
# The same q, k, v and dcontext, with S and P under the library's names: scores and probs. Click a matrix, then one of
# its cells, and read which numbers it is made of. Then make *dog* padding and look at its rows of dk and dv. (Its own
# context is still read there, so its row of dq is not zero, unlike in the figure above.) Or move an entry of q, watch
# the loss follow, and compare its slope with dq: at which ε do the two agree best, and why not at the smallest?

# %%
explorer(q[None], k[None], v[None], dcontext[None], tokens)

# %% [markdown]
# ## The library's pair
#
# `minalbert.layers.attention` is the same for B sequences and N heads at once: arrays (B, N, T, D), and a transpose of
# the last two axes in place of `.T`. It keeps q, k, v and P for the backward pass, and the dropout mask, if there is
# one.

# %%
there = np.s_[None, None]
differences = []
for row in (np.zeros((1, T)), mask):
    _, ours_P, ours = forward(q, k, v, row)
    theirs, cache = attention_forward(q[there], k[there], v[there], row[there])
    *gradients, no_gradient = attention_backward(dcontext[there], cache)  # the mask is a constant
    pairs = zip((ours, *backward(dcontext, q, k, v, ours_P)[2:]), (theirs, *gradients), strict=True)
    differences += [np.abs(mine - its[0, 0]).max() for mine, its in pairs]
print("context, dq, dk, dv, padded and not:")
print(f"at most {max(differences):.0e} from the library's")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert no_gradient is None
assert max(differences) < 1e-14

# %% [markdown]
# ## Two heads
#
# One head makes one mixture for each token. Two heads of half the width make two, for the same number of
# multiplications in the projections: head $n$ gets columns $nD$ to $(n+1)D$ of q, k and v, works alone, and writes its
# context into the same columns. A last matrix mixes the heads. The backward pass has nothing new: the columns are split
# and joined in the same places, and because x was read three times (for q, k and v), its gradient is a sum of three.

# %%
rng = np.random.default_rng(4)
H, heads = 4, 2
x, dy = rng.normal(size=(2, T, H))
weights = [rng.normal(size=shape) for _ in range(4) for shape in ((H, H), (H,))]  # query, key, value, output
wq, bq, wk, bk, wv, bv, wo, bo = weights

queries, keys, values = x @ wq + bq, x @ wk + bk, x @ wv + bv
cuts = [np.s_[:, :2], np.s_[:, 2:]]
found = [forward(queries[cut], keys[cut], values[cut]) for cut in cuts]
y = np.concatenate([mixed for _, _, mixed in found], axis=1) @ wo + bo

dmerged = dy @ wo.T
back = [backward(dmerged[cut], queries[cut], keys[cut], values[cut], found[n][1])[2:] for n, cut in enumerate(cuts)]
dqueries, dkeys, dvalues = (np.concatenate(parts, axis=1) for parts in zip(*back, strict=True))
dx = dqueries @ wq.T + dkeys @ wk.T + dvalues @ wv.T

theirs, cache = multi_head_forward(x[None], *weights, np.zeros((1, 1, 1, T)), heads)
its_dx, its_dwq, its_dbq, its_dwk, its_dbk, *_ = multi_head_backward(dy[None], cache)
print("largest entry of the gradient, both heads:")
print(f"query bias {np.abs(its_dbq).max():.2f}, key bias {np.abs(its_dbk).max():.2f}")

head_grid(attention_probs(cache)[0], tokens, cell=0.29)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(y, theirs[0], rtol=0, atol=1e-12)
assert np.allclose(dx, its_dx[0], rtol=0, atol=1e-12)
assert np.allclose(x.T @ dqueries, its_dwq, rtol=0, atol=1e-12)
assert np.abs(its_dbk).max() < 1e-12 < 0.1 < np.abs(its_dbq).max()

# %% [markdown]
# With random weights the two heads look at different things, neither at anything sensible. What trained heads look at
# is printed by `minalbert fill`, and `Albert.attention_maps` gives it as arrays of this shape, layer by layer.
#
# ## Next
#
# Write softmax and attention yourself, forward and back:
#
#     minalbert exercise start ex05
#
# Its last check compares your numbers with those of PyTorch's `scaled_dot_product_attention`.
