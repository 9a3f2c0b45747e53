# %% [markdown]
# # 17. Long texts: attention that does not look everywhere
#
# Full attention compares every token with every other, so in a text twice as long it has four times as many scores to
# compute. ALBERT's paper names sparse attention as a next step. What does a token lose if it sees only its neighbours?
# And how can such attention be computed without computing the rest?

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import numpy as np

from minalbert import PRESETS, Albert, AlbertConfig, Batch, layers, plots
from minalbert.analysis import cost

# %% [markdown]
# ## What grows with the length
#
# For each token a layer takes $8H^2 + 4HF$ operations in its four projections and its feed-forward part, whatever the
# length, and $4TH$ in attention, forward. They are equal where
#
# $$\begin{aligned} 4TH &= 8H^2 + 4HF \\ \Rightarrow\quad T &= 2H + F = 6H, \end{aligned}$$
#
# with $F = 4H$. That is 4,608 tokens for ALBERT-base. Memory reaches that point earlier. The plain kernels keep $T^2$
# probabilities for each head: at 512 tokens 13 of the 36 MB that a layer keeps of a text, and from 960 tokens on more
# than all else together. (The fused kernels do not keep them.) The table has the share of attention in a layer's
# operations, and the size of one text's probabilities in one layer:

# %%
base = PRESETS["albert-base-v2"]
H, F = base.hidden_size, base.intermediate_size
print("tokens   attention   probabilities")
for T in (512, 2048, 4608, 16384):
    attention, rest = 4 * T * H, 8 * H * H + 4 * H * F
    megabytes = 4 * base.num_attention_heads * T * T / 1e6
    print(f"{T:6,}   {attention / (attention + rest):9.0%}   {megabytes:10,.0f} MB")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert 2 * H + F == 6 * H == 4608
assert sum(cost.operations(product, base, 512) for product in cost.LAYERS) == (
    12 * 512 * (8 * H * H + 4 * H * F + 4 * 512 * H)
)

# %% [markdown]
# ## Who sees whom
#
# *Local*: a window of $w$ tokens around each. *Block*: the tokens of one's own block. *Strided*: the window, and every
# $s$-th token of the text. In each, the first token, [CLS], sees all and is seen by all. Each is one line:


# %%
def local(i, j, w):
    return (i - w // 2 <= j) & (j < i - w // 2 + w)


def block(i, j, w):
    return i // w == j // w


def strided(i, j, w, s=8):
    return local(i, j, w) | (j % s == 0)


T, w = 32, 6
i, j = np.arange(T)[:, None], np.arange(T)
patterns = {"local": local(i, j, w), "block": block(i, j, w), "strided": strided(i, j, w)}
seen = {name: sees | (i < 1) | (j < 1) for name, sees in patterns.items()}
for name, sees in seen.items():
    pattern = layers.Pattern(name, window=w, stride=8, first=1)
    unlike = np.count_nonzero(pattern.sees(i, j) != sees)
    print(f"{name:8} {sees.mean():.0%} of T²; {unlike} unlike the library's")
rows = np.stack([sees / sees.sum(axis=1, keepdims=True) for sees in seen.values()])
plots.head_grid(rows, [str(token) if token % 4 == 0 else "" for token in range(T)], names=list(seen), columns=3,
                cell=0.07, most=0.2)  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all((layers.Pattern(name, w, 8, 1).sees(i, j) == sees).all() for name, sees in seen.items())

# %% [markdown]
# ## A mask, and then no mask
#
# Sparse attention *is* full attention with one more mask: $-\infty$ where $i$ does not see $j$. But a mask saves
# nothing, because all scores are computed first. The scores that count lie along the diagonal. So cut the queries into
# groups of neighbours, and give each group only the keys that any of it sees: a *tile*. A query lies in one tile, with
# all its keys, so its softmax is complete there. A key lies in several tiles, because the windows overlap. So in
# backward its gradients **add up**:


# %%
def attention(q, k, v, sees):
    scores = np.where(sees, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (P := P / P.sum(axis=1, keepdims=True)) @ v, P


def attention_backward(dcontext, q, k, v, P):
    dP = dcontext @ v.T
    dS = P * (dP - (P * dP).sum(axis=1, keepdims=True)) / np.sqrt(q.shape[1])
    return dS @ k, dS.T @ q, P.T @ dcontext


def by_tiles(q, k, v, sees, dcontext, queries=8):
    context, dq, dk, dv = (np.zeros_like(q) for _ in range(4))
    scores = 0
    for start in range(0, len(q), queries):
        rows = np.arange(start, min(start + queries, len(q)))
        keys = np.flatnonzero(sees[rows].any(axis=0))
        context[rows], P = attention(q[rows], k[keys], v[keys], sees[np.ix_(rows, keys)])
        dq[rows], dk_tile, dv_tile = attention_backward(dcontext[rows], q[rows], k[keys], v[keys], P)
        dk[keys] += dk_tile
        dv[keys] += dv_tile
        scores += P.size
    return (context, dq, dk, dv), scores


rng = np.random.default_rng(0)
q, k, v, dcontext = rng.standard_normal((4, T, 5))
whole, P = attention(q, k, v, seen["local"])
whole = whole, *attention_backward(dcontext, q, k, v, P)
tiled, scores = by_tiles(q, k, v, seen["local"], dcontext)
print(f"tiles: {scores} of {T * T} scores, {seen['local'].sum()} needed")
for name, ours, masked in zip(("context", "dq", "dk", "dv"), tiled, whole, strict=True):
    print(f"{name:8} at most {np.abs(ours - masked).max():.0e} from the mask's")

pattern = layers.Pattern("local", window=w, stride=8, first=1, queries=8)
heads = np.s_[None, None]
context, cache = layers.sparse_attention_forward(q[heads], k[heads], v[heads], np.zeros((1, 1, 1, T)), pattern=pattern)
library = context, *layers.sparse_attention_backward(dcontext[heads], cache)[:3]
unlike = max(np.abs(a - b).max() for a, b in zip(tiled, library, strict=True))
print(f"all four at most {unlike:.0e} from the library's")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(np.allclose(a, b, rtol=0, atol=1e-12) for a, b in zip(tiled, whole, strict=True))
assert all(np.allclose(a, b[0, 0], rtol=0, atol=1e-12) for a, b in zip(tiled, library, strict=True))
assert seen["local"].sum() < scores < T * T

# %% [markdown]
# With `=` in place of `+=`, the gradients of keys would be right inside a tile and wrong at its border. Nothing else
# would be wrong.
#
# ## What it saves
#
# Which share of the T² scores do tiles compute? All scores of a tile count, those in its corners that the pattern hides
# included. Here are windows of 256, a stride of 64 and tiles of 64 queries. With *local* and *block* the number of
# scores grows with $T$. With *strided* it grows with $T (w + T/s)$.


# %%
def computed(name, T, w=256, s=64, queries=64):
    """The share of the T² scores that lie in tiles."""
    starts = np.arange(0, T, queries)
    ends = np.minimum(starts + queries, T)
    if name == "block":
        low, high = starts // w * w, np.minimum((starts // w + 1) * w, T)
    else:
        low, high = np.maximum(starts - w // 2, 0), np.minimum(ends - 1 + w - w // 2, T)
    keys = high - low
    if name == "strided":
        keys = keys + T // s - np.array([len(range(-(-a // s) * s, b, s)) for a, b in zip(low, high, strict=True)])
    elif name == "local":
        keys = keys + (low > 0)  # [CLS]
    return ((ends - starts) * keys).sum() / T**2


lengths = [512, 1024, 2048, 4096, 8192, 16384]
shares = {name: [computed(name, T) for T in lengths] for name in seen}
print("% of T²", *(f"{T / 1024:3g}k" for T in lengths))
for name, found in shares.items():
    print(f"{name:7}", *(f"{100 * share:4.1f}" for share in found))
plots.curves(np.log2(lengths), {"scores that are computed\nin % of all T², over log₂ T":
                                {name: 100 * np.array(found) for name, found in shares.items()}})  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert 0.07 < shares["local"][3] < 0.085
assert shares["strided"][-1] > 1.5 * shares["local"][-1]

# %% [markdown]
# Measured times are in [docs/long_texts.md](../docs/long_texts.md): at 4,096 tokens, local attention takes a tenth of
# full attention's time, and a whole training step half.
#
# ## What it loses, and what layers win back
#
# One layer carries what a token knows over half a window. The next layer carries it on. So $L$ layers reach $L\,w/2$
# tokens to the left.
# That can be measured without training: how many tokens back does the gradient of the last token's state go, with
# windows of 16? Beyond the reach it must be exactly zero.


# %%
def reach(num_hidden_layers, sharing="all", first=0, window=16, length=128):
    config = AlbertConfig(
        vocab_size=50, embedding_size=16, hidden_size=16, num_attention_heads=2, intermediate_size=32,
        num_hidden_layers=num_hidden_layers, sharing=sharing, initializer_range=0.25, max_position_embeddings=length,
        attention="local", attention_window=window, attention_global=first,
    )  # fmt: skip
    encoding = Albert.init(config, dtype="float64").forward(np.full((1, length), 7))
    dhidden = np.zeros_like(encoding.hidden)
    dhidden[0, -1] = np.arange(16)
    rows = encoding.backward(dhidden)["embeddings.position"]
    return length - 2 - np.flatnonzero(np.abs(rows[1:]).max(axis=1))[0]  # not counting the token that may be global


reaches = {L: [reach(L), reach(L, "none"), reach(L, first=1)] for L in (1, 2, 4, 12)}
print("layers  shared  unshared  [CLS] sees all")
for L, (shared, unshared, with_cls) in reaches.items():
    print(f"{L:6} {shared:7} {unshared:9} {with_cls:15}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(found[:2] == [8 * L, 8 * L] for L, found in reaches.items())
assert [reaches[L][2] for L in (1, 2)] == [8, 126]

# %% [markdown]
# Sharing does not shrink the reach: a layer that is applied $L$ times reaches as far as $L$ different layers. And [CLS]
# is a shortcut: it sees all tokens in one layer, and all see it in the next. But it is one hidden state for the whole
# text.
#
# In a model, all of this is configuration. The weights are the same ones, so a trained model can be asked with another
# attention:

# %%
tiny = PRESETS["tiny"]
model = Albert.init(tiny)
sparse = Albert(tiny.replace(attention="local", attention_window=16), model.params)
batch = Batch.random(tiny, size=2, length=48, predictions=4)
for name, each in (("full", model), ("local", sparse)):
    losses, grads = each.loss_and_grads(batch)
    print(f"{name:6} loss {losses.total:.4f}, gradient's length {np.linalg.norm(grads.flat):.1f}")

# %% [markdown]
# ## Tasks for the reader
#
# **1. A window that looks back only.** Write `past(i, j, w)`, where a token sees itself and the $w - 1$ tokens before
# it. How far do $L$ layers reach, to the left and to the right? Check with `by_tiles`.


# %%
def past(i, j, w):
    first = last = None  # your answer here
    return None if first is None else (first <= j) & (j <= last)


sees = past(i, j, w)
print("past is not written yet" if sees is None else f"{sees.mean():.0%} of the scores")

# %% [markdown]
# **2. Tiles.** `by_tiles` computes more scores than are needed. How many, for tiles of 1, 8, 16 and 32 queries? Why are
# tiles of one query not the fastest?
#
# *Your answer:*
#
# **3. The best stride.** With *strided*, a token sees $w + T/s$ others. Suppose that a far token is as good as a near
# one and that you may choose $w$ and $s = w$. Which $w$ is best for $T = 16{,}384$? How do the scores then grow with
# $T$?
#
# *Your answer:*
#
# ## Next
#
# Line by line: [the walkthrough's page on sparse attention](../docs/walkthrough/sparse_attention.md). Full attention is
# exercise 5: `minalbert exercise start ex05`.
