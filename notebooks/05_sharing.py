# %% [markdown]
# # 5. One block, L times
#
# ALBERT-base has twelve layers and the weights of one. In the forward pass this is a loop. What happens in the backward
# pass: which gradient does a weight get that was used twelve times, with twelve different inputs? And what does sharing
# save, and what not?
#
# Begin with the smallest case there is: one weight $w$, used twice, $y = w\,(w\,x)$. With $x = 2$, $w = 3$ the first
# pass makes 6, the second 18. By hand, $y = w^2 x$, so $dy/dw = 2wx = 12$. Now by passes:
#
# | pass | its input | handed $dy$ | $dw = dy \cdot \text{input}$ | $dx = dy \cdot w$ |
# |---|---|---|---|---|
# | second | 6 | 1 | 6 | 3 |
# | first | 2 | 3 | 6 | 9 |
#
# 6 + 6 = 12. Each pass needs its *own* input, and the gradients *add*.


# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import numpy as np

from minalbert import PLAIN, PRESETS, Albert, AlbertConfig, Params, layers
from minalbert.analysis import cost, memory, parameters
from minalbert.model import Context
from minalbert.model.block import block_backward, block_forward
from minalbert.model.encoder import encoder_backward, encoder_forward
from minalbert.plots import matrices, shared_passes


class Scale:
    """y = w x, written so that it remembers its input."""

    def __init__(self, w):
        self.w, self.dw = w, 0

    def forward(self, x):
        self.x = x
        return self.w * x

    def backward(self, dy):
        self.dw += dy * self.x
        return dy * self.w


layer = Scale(3)
y = layer.forward(layer.forward(2))
layer.backward(layer.backward(1))
print(f"y = {y}, dw = {layer.dw}, and it should be 12")

d, parts = 1, []
for its_input in reversed([2, 6]):  # the table: each pass with its own input
    parts.append(d * its_input)
    d *= 3

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert (y, layer.dw) == (18, 24)
assert (parts, sum(parts), d) == ([6, 6], 12, 9)

# %% [markdown]
# **An object that keeps one input breaks when it is applied twice.** The second pass wrote its input, 6, over the first
# one's, 2; backward used 6 both times: $1 \cdot 6 + 3 \cdot 6 = 24$. Nothing was raised. The same happens to a GELU or
# a softmax in such an object, which has no weights at all: its *dx* is wrong, because its slope depends on its input.
# (PyTorch's modules may be applied twice: it records every call.)
#
# So a pair of functions returns what it needs (`y, cache = forward(x)`), and whoever applies it L times has L caches.
#
# ## The sum over copies
#
# Let every pass have a copy of the weights, $w_1, \dots, w_L$; the loss is a function $f(w_1, \dots, w_L)$, and
# backpropagation finds $g_l = \partial f / \partial w_l$ as for any unshared model. Sharing sets all copies to the same
# $w$. By the chain rule with $\partial w_l / \partial w = 1$:
#
# $$\begin{aligned}
# \frac{d}{dw} f(w, \dots, w) &= \sum_{l=1}^{L} \frac{\partial f}{\partial w_l} \\[1em]
# &= g_1 + g_2 + \dots + g_L
# \end{aligned}$$
#
# That is all. In code: a loop, a list of caches, and `+=`, which stands in the library's `block_backward`. Here is the
# loop, for a model small enough to look at: H = 4, F = 8, two heads, L = 3.

# %%
config = AlbertConfig(
    vocab_size=11, embedding_size=4, hidden_size=4, num_hidden_layers=3, num_attention_heads=2,
    intermediate_size=8, max_position_embeddings=6,
)  # fmt: skip
L = config.num_hidden_layers


def encoder_shapes(config):
    every = Albert.init(config).params.shapes
    return {name: shape for name, shape in every.items() if name.startswith("encoder.")}


table = encoder_shapes(config)
rng = np.random.default_rng(6)
params = Params.zeros(table, "float64")
params.flat[...] = 0.3 * rng.normal(size=params.flat.size)
for half in ("attention", "ffn"):
    params[f"encoder.{half}.norm.gain"][...] += 1
x, dy = rng.normal(size=(2, 2, 6, 4))  # (B, T, H)
mask = layers.key_mask(np.array([[1] * 6, [1] * 4 + [0] * 2]), np.float64)
ctx = Context(config, params, mask, key=None, pairs=PLAIN)  # what every pair is given beside its input


def forward(x):
    caches = []
    for layer in range(L):
        x, cache = block_forward(x, layer, ctx)
        caches.append(cache)
    return x, caches


def backward(dx, caches, grads):
    for layer in reversed(range(L)):
        dx = block_backward(dx, caches[layer], ctx, grads)  # adds into grads, name by name
    return dx


y, caches = forward(x)
grads = params.zeros_like()
dx = backward(dy, caches, grads)
print(f"{len(table)} tensors, {params.flat.size} weights, used {L} times")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert (len(table), params.flat.size) == (16, 172)

# %% [markdown]
# Is it right? Something that knows nothing of backward passes can tell: move all weights a little in a random
# direction, and see how much the loss moves for it. The loss is $\sum y \cdot dy$ here, and the step is imaginary, so
# that nothing is lost by rounding (notebook 2).

# %%
its_y, its_cache = encoder_forward(x, ctx)
its_grads = params.zeros_like()
its_dx = encoder_backward(dy, its_cache, ctx, its_grads)
step = 1e-30j * rng.normal(size=params.flat.size)
moved, _ = encoder_forward(x, ctx._replace(params=Params(params.flat + step, table)))
slope = (moved * dy).sum().imag / 1e-30
along = grads.flat @ step.imag / 1e-30
print(f"the loss's slope there is {slope:.4f}")
print(f"the gradient says         {along:.4f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(np.allclose(ours, its, rtol=1e-12, atol=1e-12)
           for ours, its in ((y, its_y), (dx, its_dx), (grads.flat, its_grads.flat)))  # fmt: skip
assert abs(slope - along) < 1e-9 * np.abs(grads.flat).sum()

# %% [markdown]
# Play the same with a smaller block, $x \leftarrow x + \tanh(x w)$. Forward, x changes from pass to pass and w stays.
# Backward, each pass adds its part to the same dw. **Find out** with 12 layers: are all parts of one size, and which
# passes have the largest?

# %%
numbers = np.random.default_rng(1)
shared_passes(x=numbers.normal(size=(2, 3)), w=0.3 * numbers.normal(size=(3, 3)), dy=numbers.normal(size=(2, 3)))

# %% [markdown]
# ## The copies, one by one
#
# The library can leave weights unshared: `sharing="none"` gives each layer tensors of its own. Put the same numbers
# into all three copies. Forward gives the same states; backward finds each copy's gradient.

# %%
unshared = config.replace(sharing="none")


def in_copy(name, layer):
    half, rest = name.removeprefix("encoder.").split(".", 1)
    return f"encoder.{half}.{layer}.{rest}"


copies = Params.zeros(encoder_shapes(unshared), "float64")
for name in table:
    for layer in range(L):
        copies[in_copy(name, layer)][...] = params[name]
copies_ctx = ctx._replace(config=unshared, params=copies)
copies_y, cache = encoder_forward(x, copies_ctx)
copies_grads = copies.zeros_like()
encoder_backward(dy, cache, copies_ctx, copies_grads)

parts = {name: [copies_grads[in_copy(name, layer)] for layer in range(L)] for name in table}
apart = [np.abs(sum(parts[name]) - grads[name]).max() for name in table]
print("the sum over three copies and the shared")
print(f"gradient: at most {max(apart):.0e} apart, {len(apart)} tensors")

name = "encoder.attention.value.w"
full = {"largest": np.abs(grads[name]).max()}  # one scale of colours for all
matrices([{"name": "g₁", "values": parts[name][0]} | full, "+", {"name": "g₂", "values": parts[name][1]} | full, "+",
          {"name": "g₃", "values": parts[name][2]} | full, "=",
          {"name": "the shared value.w's gradient", "values": grads[name]} | full])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(np.allclose(sum(parts[tensor]), grads[tensor], rtol=1e-12, atol=1e-12) for tensor in table)
assert len(table) == 16
assert np.allclose(copies_y, y, rtol=1e-12, atol=1e-12)

# %% [markdown]
# The parts are not alike: each pass saw another input, and was handed another gradient. Here are their lengths
# $\lVert g_l \rVert$ in all tensors. Parts of one direction would add to the sum of their lengths; in `value.w` above
# the sum has 0.76 of it, and with parts at right angles it would have 0.58. So these passes agree in part. (The row of
# the key bias is zero, as notebook 4 proves.)

# %%
lengths = [[np.linalg.norm(part) for part in [*parts[name], grads[name]]] for name in table]
*three, together = lengths[list(table).index("encoder.attention.value.w")]
print(f"value.w: {' + '.join(f'{length:.2f}' for length in three)} = {sum(three):.2f}")
print(f"length of the sum: {together:.2f}")

matrices([{"name": "gradient lengths", "values": lengths, "rows": [name.removeprefix("encoder.") for name in table],
           "columns": ["pass 1", "pass 2", "pass 3", "sum"]}])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(together / sum(three) - 0.761) < 0.005
assert abs(np.linalg.norm(three) / sum(three) - 0.58) < 0.005
assert max(lengths[list(table).index("encoder.attention.key.b")]) < 1e-12

# %% [markdown]
# ## Two mistakes
#
# **`=` in place of `+=`.** Backward reaches pass 1 last, so what stays is $g_1$ alone.
#
# **One cache in place of L**, the last one, as in a module that remembers. All three passes then use the third one's
# input, its attention, its norms.
#
# Neither raises anything, and both gradients have the right shape. Their cosines with the gradient are above zero, so
# that a small step against either lowers the loss: a falling loss proves nothing. The check of above does. Along the
# same direction the loss's slope is -7.77, and the wrong gradients say something else. (The table's errors are in
# units of the right gradient's length.)

# %%
overwritten = params.zeros_like()
d = dy
for layer in reversed(range(L)):
    overwritten = params.zeros_like()  # what `=` does: all that was there is gone
    d = block_backward(d, caches[layer], ctx, overwritten)

last_only = params.zeros_like()
backward(dy, [caches[-1]] * L, last_only)


def compare(wrong):
    error = np.linalg.norm(wrong.flat - grads.flat) / np.linalg.norm(grads.flat)
    cosine = wrong.flat @ grads.flat / np.linalg.norm(wrong.flat) / np.linalg.norm(grads.flat)
    return error, cosine, wrong.flat @ step.imag / 1e-30


print("                     error  cosine   slope")
for title, wrong in {"= instead of +=": overwritten, "the last cache only": last_only}.items():
    error, cosine, says = compare(wrong)
    print(f"{title:20} {error:5.2f} {cosine:7.2f} {says:7.2f}")

matrices([{"name": "right", "values": grads[name]} | full, "  ",
          {"name": "= for +=: g₁ alone", "values": overwritten[name]} | full, "  ",
          {"name": "the last cache only", "values": last_only[name]} | full])  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(np.allclose(overwritten[name], parts[name][0], rtol=1e-12, atol=1e-12) for name in table)
assert np.allclose(d, dx, rtol=1e-12, atol=1e-12)  # dx is right all the same
assert np.allclose(compare(overwritten)[:2], (0.72, 0.74), atol=0.01)
assert np.allclose(compare(last_only)[:2], (0.67, 0.75), atol=0.01)
assert abs(slope + 7.77) < 0.01
assert min(abs(compare(wrong)[2] - slope) for wrong in (overwritten, last_only)) > 0.1

# %% [markdown]
# ## Keep less: recomputation
#
# A cache can be made again from the block's input. Keep only the L inputs. In the backward pass run the block forward
# once more, use the fresh cache, and drop it. These are the same operations on the same numbers, so the gradients are
# not nearly, but **bitwise** the same. (With dropout the same mask must be sampled again: the library computes it from
# a key and a place, not by a generator that has moved on.)


# %%
def forward_keeping_inputs(x):
    inputs = []
    for layer in range(L):
        inputs.append(x)
        x = block_forward(x, layer, ctx)[0]
    return x, inputs


def backward_from_inputs(dx, inputs, grads):
    for layer in reversed(range(L)):
        _, cache = block_forward(inputs[layer], layer, ctx)
        dx = block_backward(dx, cache, ctx, grads)
        del cache  # before the next one is made
    return dx


again, its_again = params.zeros_like(), params.zeros_like()
backward_from_inputs(dy, forward_keeping_inputs(x)[1], again)
encoder_backward(dy, encoder_forward(x, ctx, recompute=True)[1], ctx, its_again)
unequal = [np.count_nonzero(found.flat != grads.flat) for found in (again, its_again)]
print(f"numbers with other bits, of {grads.flat.size:,}:")
print(f"{unequal[0]} in ours, {unequal[1]} in the library's")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.array_equal(again.flat, grads.flat)
assert np.array_equal(its_again.flat, grads.flat)

# %% [markdown]
# What does it save, and what does it cost? `minalbert.analysis.memory` counts, array by array, what a training step
# holds besides weights and moments. It counts for fused kernels, which compute a layer piece by piece and keep less of
# it than the pairs of this notebook do (notebook 16). For ALBERT-base, float32, 32 sequences of 512 tokens, one more
# layer takes 504 MB, with recomputation 50 MB: its input and nothing else. Activations go from 6.10 to 1.45 GB; of
# these, 0.60 are the twelve inputs, and most of the rest is the one layer that is being computed again. The price is
# 1.33 times the operations: a backward pass has twice those of a forward pass, and now the layers run forward twice,
# $(1 + 1 + 2) / (1 + 2)$.

# %%
base = PRESETS["albert-base-v2"]
B, T = 32, 512
found = {}
print("recompute a layer  activations  operations")
for recompute in (False, True):
    layer_mb = memory.layer_bytes(base, B, T, recompute=recompute) / 1e6
    all_gb = memory.activation_bytes(base, B, T, recompute=recompute) / 1e9
    times = cost.training_operations(base, T, recompute=recompute) / cost.training_operations(base, T)
    found[recompute] = [round(layer_mb), round(all_gb, 2), round(times, 2)]
    print(f"{'yes' if recompute else 'no':9} {layer_mb:4.0f} MB {all_gb:9.2f} GB {'×':>6} {times:.2f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert found == {True: [50, 1.45, 1.33], False: [504, 6.1, 1]}

# %% [markdown]
# ## What sharing saves
#
# Parameters, and whatever is as large as they are: gradients, the optimiser's moments, what machines send each other.
# Not activations, because each pass keeps its own; not operations, because a weight that is used twelve times is
# multiplied twelve times. An ALBERT-base whose layers shared nothing would have 89.8 million parameters in place of
# 11.8 million; its activations would take the same 6.10 GB, and forward and backward as many operations. All of this is
# counted, not measured; what it means for time between machines is notebook 15. (The table's operations are those of
# one sequence.)

# %%
unshared = base.replace(sharing="none")
print("         million    GB of       billion")
print("         parameters activations operations")
for title, one in {"shared": base, "unshared": unshared}.items():
    millions, gigabytes = parameters.totals(one)["everything"] / 1e6, memory.activation_bytes(one, B, T) / 1e9
    operations = cost.training_operations(one, T) / 1e9
    print(f"{title:8} {millions:10.1f} {gigabytes:11.2f} {operations:10.0f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert parameters.totals(base)["everything"] == 11_813_810
assert parameters.totals(unshared)["everything"] == 89_780_402
assert memory.activation_bytes(base, B, T) == memory.activation_bytes(unshared, B, T)
assert cost.training_operations(base, T) == cost.training_operations(unshared, T)

# %% [markdown]
# ## What sharing costs
#
# Scores. The paper shares all of a layer, one half of it, or nothing, in ALBERT-base (table 4, $E = 128$; the mean of
# SQuAD 1.1 and 2.0, MNLI, SST-2 and RACE). Beside it our counts of parameters, without the two heads of
# pretraining:

# %%
PAPER = {"all": 80.1, "attention": 81.7, "ffn": 80.2, "none": 81.6}
print("shared      million parameters    score")
for sharing, score in PAPER.items():
    millions = parameters.totals(base.replace(sharing=sharing))["trunk_and_pooler"] / 1e6
    print(f"{sharing:10} {millions:19.1f} {score:8}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert round(PAPER["none"] - PAPER["all"], 1) == 1.5

# %% [markdown]
# Sharing all costs 1.5 points there, and nearly all of it comes from the feed-forward half: with attention alone shared
# no cost shows. With $E = 768$ sharing all costs 2.5 points, and sharing attention 0.7. ALBERT spends what it saves on
# width: its largest model, $H = 4096$, has 88.7 on average where BERT-large has 85.2, and computes 0.3 times as fast.
#
# And at our small size? The runs of Table 3 on [the page of our tables](../docs/paper.md) have two layers with
# $H = 64$, shared and not. After 1,500 steps the shared models' loss on masked words is higher, in nats and as the mean
# of three seeds with its 95 % interval: by 0.110 ± 0.085 with $E = 16$, 0.171 ± 0.140 with 32, 0.246 ± 0.034 with 64.
# With $E = 8$ three seeds cannot tell (0.099 ± 0.271), nor can they in the accuracy on SOP, with any $E$.
#
# Table 4 of that page asks the same of three layers with $H = 64$, other stories and five seeds. Sharing all costs
# 0.463 nats with $E = 64$ (interval: 0.246 to 0.681) and 0.313 with $E = 16$ (interval: 0.068 to 0.559). Which half
# costs more does not show.
#
# What the saved weights gain where they are spent on width is Table 6 of that page. After equal steps the wide shared
# model has a lower loss than the narrow unshared one, by 0.459 nats (interval: 0.072 to 0.845). At equal operations no
# gain shows; at equal seconds one of 0.516 nats does (interval: 0.017 to 1.014), because wide layers keep a processor
# busier.
#
# What sharing costs on tasks could not be measured ([docs/finetuning.md](../docs/finetuning.md)): the unshared models
# had not learnt SOP after as many steps as the shared ones, so that there was nothing to compare.
#
# ## In one sentence
#
# The gradient of a shared weight is the sum of the gradients of its uses; sharing takes ALBERT-base from 89.8 to 11.8
# million parameters and saves no operations and no activations, because every use computes again and needs a cache of
# its own, or at least its input. In the paper it costs 1.5 points.
#
# ## Next
#
# Write the block, the loop and the backward pass of both:
#
#     minalbert exercise start ex06
#
# and then count what was claimed here yourself, in `ex07`.
