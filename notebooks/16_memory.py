# %% [markdown]
# # 16. Memory for time
#
# The backward pass needs what the forward pass computed. So training keeps it, and with twelve layers that is most of
# the memory of a step. Must it all be kept? The ALBERT paper (§2.1) names two ways to need less, and says of both that
# they cost time. What exactly do they save, what do they cost, and what does sharing do?

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import textwrap

import numpy as np

from minalbert import PRESETS, Albert, Batch, plots
from minalbert.analysis import cost, memory_for_time
from minalbert.gradcheck import check_pair

# %% [markdown]
# ## Two kinds of memory
#
# *Weights*, their gradients and the optimiser's two moments are four vectors, as long as the model has parameters.
# *Activations* grow with the batch, the length and the depth. Sharing makes the first kind smaller and leaves the
# second as it is: each of the $L$ applications of the shared layer has activations of its own.
#
# All activations in this notebook are those of the *plain* kernels, whose code you read. The fused kernels do not keep
# the probabilities of attention and compute more again in backward: with them the layers hold 6.05 GB (notebook 1) in
# place of the 13.6 GB below.

# %%
base = PRESETS["albert-base-v2"]
B, T = 32, 512
held = {}
print("               four vectors   activations")
for name, sharing in (("all shared", "all"), ("nothing shared", "none")):
    config = base.replace(sharing=sharing)
    vectors = 4 * cost.all_reduced_bytes(config)
    held[name] = vectors / 1e9, memory_for_time.table(config, B, T)[0]["plain_bytes"] / 1e9
    print(f"{name:15}{held[name][0]:9.2f} GB{held[name][1]:11.1f} GB")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert held["nothing shared"][0] > 7 * held["all shared"][0]
assert held["nothing shared"][1] == held["all shared"][1]

# %% [markdown]
# ## Recomputation
#
# Keep only the input of every $k$-th layer. In backward, run $k$ layers forward again from the kept input, use their
# caches, and let them go (Chen et al., 2016). If an input has $i$ bytes and a layer's cache $c$, a pass holds
#
# $$\begin{gathered}
# \frac{L}{k}\, i + k\, c \\
# \text{which is least at}\qquad k = \sqrt{L\, i / c}
# \end{gathered}$$
#
# The derivative for $k$ is $-L i / k^2 + c$; set it to zero. Where a cache is as large as an input, that is the famous
# $\sqrt L$. A transformer's layer keeps far more than its input, so $k = 1$ may be best. How much more does it keep?

# %%
def best_k(L, ratio):
    """ratio: a layer's cache by its input"""
    return min(range(1, L + 1), key=lambda k: -(-L // k) + k * ratio)


layer = memory_for_time.plain_bytes([(memory_for_time.plain_layer(base), 1, None)], base, B, T)
ratio = layer / (4 * B * T * base.hidden_size)
print(f"a layer keeps {ratio:.1f} times its input")
print("best k, if a layer's cache were")
print("layers   as small as its input    as it is")
for L in (12, 24, 48, 96):
    print(f"{L:6}{best_k(L, 1):24}{best_k(L, ratio):12}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert 20 < ratio < 25
assert [best_k(L, 1) for L in (12, 48)] == [3, 6]
assert [best_k(L, ratio) for L in (12, 24)] == [1, 1]

# %% [markdown]
# The price is a second forward pass. A backward pass takes twice the operations of a forward pass, so a step goes from
# $1 + 2$ to $2 + 2$ of them: 4/3.
#
# ## Reversible layers
#
# A second way keeps *nothing* of a layer. Let two streams of hidden states go through the layers, and let each half of
# a layer add to one stream what it computes from the other (Gomez et al., 2017):
#
# $$y_1 = x_1 + f(x_2) \qquad y_2 = x_2 + g(y_1)$$
#
# The output determines the input: $g(y_1)$ can be computed again, so $x_2 = y_2 - g(y_1)$, and then
# $x_1 = y_1 - f(x_2)$. Backward computes the inputs again, layer by layer, and adds a gradient wherever a stream was
# read:
#
# $$\begin{aligned}
# dy_1 &\mathrel{+}= g'(y_1)^\top dy_2 \\
# dx_2 &= dy_2 + f'(x_2)^\top dy_1 \qquad dx_1 = dy_1
# \end{aligned}$$
#
# Here are $L$ such layers that share two matrices, as ALBERT's would, with $f(x) = \tanh(x\,u)$ and
# $g(x) = \tanh(x\,w)$. The cache is the *output* of the last layer.


# %%
def reversible_forward(x, u, w, layers=6):
    x1 = x2 = x
    for _ in range(layers):
        x1 = x1 + np.tanh(x2 @ u)
        x2 = x2 + np.tanh(x1 @ w)
    return (x1 + x2) / 2, (x1, x2, u, w, layers)


def reversible_backward(dy, cache):
    y1, y2, u, w, layers = cache
    d1 = d2 = dy / 2
    du, dw = np.zeros_like(u), np.zeros_like(w)
    for _ in range(layers):
        g = np.tanh(y1 @ w)
        y2 = y2 - g  # now the layer's x2
        dg = d2 * (1 - g**2)
        dw, d1 = dw + y1.T @ dg, d1 + dg @ w.T
        f = np.tanh(y2 @ u)
        y1 = y1 - f  # now its x1
        df = d1 * (1 - f**2)
        du, d2 = du + y2.T @ df, d2 + df @ u.T
    return d1 + d2, du, dw


rng = np.random.default_rng(0)
tensors = {"x": rng.standard_normal((5, 4)), "u": rng.standard_normal((4, 4)), "w": rng.standard_normal((4, 4))}
report = check_pair(reversible_forward, reversible_backward, tensors, name="six reversible layers")
print(textwrap.fill(str(report), 42))


def forgets_to_undo(dy, cache):
    y1, y2, u, w, layers = cache
    d1 = d2 = dy / 2
    du, dw = np.zeros_like(u), np.zeros_like(w)
    for _ in range(layers):
        dg = d2 * (1 - np.tanh(y1 @ w) ** 2)
        dw, d1 = dw + y1.T @ dg, d1 + dg @ w.T
        df = d1 * (1 - np.tanh(y2 @ u) ** 2)
        du, d2 = du + y2.T @ df, d2 + df @ u.T
    return d1 + d2, du, dw


wrong = check_pair(reversible_forward, forgets_to_undo, tensors, name="streams not undone")
print(f"streams not undone: relative error {wrong.error:.1f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert check_pair(reversible_forward, reversible_backward, tensors, name="six reversible layers").passed
assert not wrong.passed

# %% [markdown]
# ## The library's table
#
# `minalbert params` prints, for any model, batch and length, what each way holds. Here it is for ALBERT-base and 32
# sequences of 512 tokens: what the layers' caches hold, and the operations of a step beside keeping all.

# %%
rows = memory_for_time.table(base, B, T)
print("activations, and operations by the first:")
for row in rows:
    print(f"{row['name']:28}{row['plain_bytes'] / 1e9:6.2f} GB{row['operations']:5.2f}")
plots.bars({
    "activations of the layers": ("{:.2f} GB", {row["name"]: row["plain_bytes"] / 1e9 for row in rows}),
    "operations of a step": ("× {:.2f}", {row["name"]: row["operations"] for row in rows}),
})  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert [row["name"] for row in rows][::2] == ["keep all", "recompute each layer", "reversible"]
assert round(rows[2]["operations"], 2) == 1.33 == round(rows[4]["operations"], 2)
assert rows[4]["plain_bytes"] < rows[2]["plain_bytes"] < rows[3]["plain_bytes"] < rows[0]["plain_bytes"]

# %% [markdown]
# *In parts* costs next to nothing: a batch is computed in parts whose gradients are added, and only one part's
# activations are in memory at a time. A CPU loses nothing by it. A GPU does, because it needs large products.
#
# ## Are the gradients the same?
#
# Recomputation does the same operations on the same numbers. Reversible layers do not: $(x + a) - a$ is not quite $x$
# in floating point, and an error made in one layer goes on to the layer before. So compare each with the truth: the
# model with `recompute=True` with the model that keeps all, and the reversible one in float32 with itself in float64.

# %%
tiny = PRESETS["tiny"]
model, batch = Albert.init(tiny), Batch.random(tiny, size=4, length=16, predictions=3)
grads, again = (model.loss_and_grads(batch, recompute=recompute)[1].flat for recompute in (False, True))
print(f"recomputing changes {np.count_nonzero(grads != again)} of {grads.size:,} gradients")

depths, errors = (2, 3, 6, 12, 24, 48), []
for depth in depths:
    config = tiny.replace(reversible=True, num_hidden_layers=depth)
    exact, rough = (Albert.init(config, dtype=dtype) for dtype in ("float64", "float32"))
    exact.params.flat[:] = rough.params.flat
    truth, ours = exact.loss_and_grads(batch)[1].flat, rough.loss_and_grads(batch)[1].flat
    errors.append(np.linalg.norm(ours - truth) / np.linalg.norm(truth))
plots.curves(depths, {"reversible layers in float32\nlog₁₀ of the gradient's relative error, over the number of layers":
                      {"error": np.log10(errors)}})  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.array_equal(grads, again)
assert errors[0] < 1e-5
assert errors[0] < errors[-1] < 1e-3

# %% [markdown]
# The error grows with depth, and stays far below what training notices. [docs/memory.md](../docs/memory.md) measures
# times and memory of real steps, and how large an error a training run bears.
#
# So: recomputation changes no bit, reversible layers save a little more in deep models, and both cost a third of the
# time. Sharing costs no time and saves other bytes. They can be combined.
#
# ## Tasks for the reader
#
# **1. Where does $k = 1$ end?** For which depth does keeping every second input need less than keeping each, with the
# ratio of fused kernels, 10? Compute it, then check with `best_k`.
#
# *Your answer:*
#
# **2. Dropout.** Both ways run forward twice. What must hold for the masks? Break it on purpose: add a random mask to
# `reversible_forward`, first from a generator with a state, then from a key. What does the gradient check say?
#
# *Your answer:*
#
# **3. An embedding instead of layers.** Which activations do neither of the two ways save? Find them in
# `minalbert.analysis.memory`.
#
# *Your answer:*

# %%
# your computation here

# %% [markdown]
# ## Next
#
# The loop over shared layers, with its caches, is exercise 6: `minalbert exercise start ex06`. Line by line:
# [the walkthrough's page on reversible layers](../docs/walkthrough/reversible.md).
