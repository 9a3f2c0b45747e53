# %% [markdown]
# # 8. Two losses, and how far to step
#
# A model has guessed, and was wrong. What is the gradient of the loss for each of its scores? And once every weight has
# its gradient: how far should each of them move, if some tensors are large and some are small?

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import numpy as np

from minalbert import PLAIN, PRESETS, Albert, Batch, Totals, plots
from minalbert.layers import cross_entropy_backward, cross_entropy_forward
from minalbert.optim import AdamW, Lamb, Moments, Schedule, clip_factor, global_norm, lamb_tensor

# %% [markdown]
# ## Cross-entropy, and a gradient of one line
#
# Both losses are cross-entropies. MLM asks which of $K = V$ words was masked, SOP in which of $K = 2$ orders two
# segments stand. Scores $z$ over $K$ words become probabilities, $p_j = e^{z_j} / \sum_k e^{z_k}$. The loss is
# $-\ln p_y$, where $y$ is the right word. Take the logarithm before the derivative:
#
# $$\begin{aligned}
# \ell &= -z_y + \ln \sum_k e^{z_k} \\[1em]
# \frac{\partial \ell}{\partial z_j} &= \frac{e^{z_j}}{\sum_k e^{z_k}} - [j = y] = p_j - \mathrm{onehot}(y)_j
# \end{aligned}$$
#
# A step down this gradient lowers the score of each wrong word by its probability, and raises that of the right word by
# what its probability lacks. The numbers sum to zero, and none is beyond $\pm 1$, however wrong the model is.

# %%
words = ["soup", "bread", "rain", "boat", "lamp"]
z, right = np.array([2.0, 1.2, 0.3, -0.5, 0.1]), words.index("bread")

p = np.exp(z - z.max())
p /= p.sum()
by_hand = p - np.eye(5)[right]

loss, cache = cross_entropy_forward(z[None], np.array([right]), np.ones(1))
dz = cross_entropy_backward(1.0, cache)[0][0]

h, numeric = 1e-5, np.empty(5)
for j in range(5):
    up, down = z + h * np.eye(5)[j], z - h * np.eye(5)[j]
    numeric[j] = (np.log(np.exp(up).sum()) - up[right] - np.log(np.exp(down).sum()) + down[right]) / (2 * h)

after = np.exp(z - by_hand)
after /= after.sum()
print(f"loss {loss:.3f}; after one step {-np.log(after[right]):.3f}")
plots.distribution_bars(words, {
    "probabilities\np; bold: the right word": p,
    "its gradient\np − onehot": by_hand,
    "after one step\nz − (p − onehot)": after,
}, right)  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(loss, -np.log(p[right]))
assert np.allclose(dz, by_hand)
assert abs(by_hand.sum()) < 1e-12
assert np.abs(by_hand).max() < 1
assert np.allclose(numeric, by_hand, atol=1e-8)
assert -np.log(after[right]) < loss

# %% [markdown]
# ## The loss of an untrained model
#
# A model that knows nothing gives each of $V$ words the probability $1/V$, and each of two orders one half. Its loss is
# $\ln V + \ln 2$. If the first loss is far from that, something is wrong before anything is learnt.
#
# The loss is a little higher, and we can say by about how much. After its last norm the MLM head's output has mean
# square 1 over its $E$ places, and the word table's entries have variance $s^2$: the scores have variance $E s^2$ and
# mean 0. Among many words the mean of $e^z$ is that of a normal $z$, $e^{E s^2 / 2}$, so that
#
# $$\ell_{\mathrm{MLM}} \approx \ln V + \tfrac12 E s^2$$
#
# Entries are drawn from a normal distribution of $\sigma$ = `initializer_range`, cut off at $2 \sigma$: $s = 0.88\,
# \sigma$. ALBERT has $\sigma = 0.02$, the teaching presets $\sigma = 1 / \sqrt H$, which is 0.125 for $H = 64$.

# %%
config = PRESETS["tiny"]
word = Albert.init(config, seed=0).params["embeddings.word"]
print(f"s = {word.std() / config.initializer_range:.2f} σ")
batch = Batch.random(config, size=128, length=32, predictions=8)
found = []
print("    σ    MLM  expected    SOP   ln 2")
for sigma in (0.02, config.initializer_range):
    losses = Albert.init(config.replace(initializer_range=sigma), seed=0).loss(batch)
    expected = np.log(config.vocab_size) + 0.5 * config.embedding_size * (0.88 * sigma) ** 2
    print(f"{sigma:.3f}{losses.mlm:7.2f}{expected:10.2f}{losses.sop:7.2f}{np.log(2):7.2f}")
    found.append((losses.mlm - expected, losses.sop - np.log(2)))

print(f"ln 1024 = {np.log(1024):.2f}")
print(f"ALBERT's 30,000 words: ln V = {np.log(30_000):.2f},")
print(f"with the scores' variance {np.log(30_000) + 0.5 * 128 * (0.88 * 0.02) ** 2:.2f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.abs(found).max(axis=0)[0] < 0.06
assert np.abs(found).max(axis=0)[1] < 0.12
assert abs(word.std() / config.initializer_range - 0.88) < 0.01
assert np.isclose(config.initializer_range, 1 / config.hidden_size**0.5)
assert config.vocab_size == 1024
assert round(np.log(2), 2) == 0.69
assert round(np.log(30_000), 2) == 10.31

# %% [markdown]
# ## A mean of means is not the mean
#
# MLM is a mean over *targets*, $\sum_i w_i \ell_i / \sum_i w_i$, and sequences differ in how many they have. If a batch
# is too large for the memory it is cut into slices whose gradients are added. If each slice divided by its own number
# of targets, a slice with few would count as much as a slice with many. So every slice divides by the total of all.
#
# Here one slice has 8 targets and the other 35, more unlike than slices of real texts are. The loss hardly tells the
# mistake, because a fresh model is as wrong about one word as about another; the gradient does, because other targets
# pull at other words.

# %%
def first_targets(batch, count):
    """The batch with at most so many targets in a sequence."""
    return batch._replace(mlm_weights=batch.mlm_weights * (np.arange(batch.mlm_weights.shape[1]) < count))

model = Albert.init(config, seed=0, dtype="float64")
few, many = (Batch(*(array[rows] for array in batch)) for rows in (slice(0, 8), slice(8, 16)))
few = first_targets(few, 1)
whole = Batch(*(np.concatenate(pair) for pair in zip(few, many, strict=True)))
counts = [int(each.mlm_weights.sum()) for each in (few, many)]

losses, grads = model.loss_and_grads(whole)
alone = [model.loss_and_grads(each) for each in (few, many)]
means = [float(found.mlm) for found, _ in alone]
mean_of_means, mean = np.mean(means), np.average(means, weights=counts)
wrong = 0.5 * (alone[0][1].flat + alone[1][1].flat)
error = np.linalg.norm(wrong - grads.flat) / np.linalg.norm(grads.flat)

totals = Totals(targets=sum(counts), sequences=len(whole.input_ids))
added = model.params.zeros_like()
for each in (few, many):
    model.loss_and_grads(each, into=added, totals=totals)

print(f"{counts[0]} and {counts[1]} targets, means {means[0]:.3f} and {means[1]:.3f}")
print(f"mean of means {mean_of_means:.3f}")
print(f"mean over targets {mean:.3f}, whole batch {losses.mlm:.3f}")
remainder = np.linalg.norm(added.flat - grads.flat) / np.linalg.norm(grads.flat)
print("the slices' gradients miss the batch's")
print(f"by {error:.0%} of its length, as a mean;")
print(f"by {remainder:.0e}, with the total as divisor")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.isclose(mean, losses.mlm)
assert abs(mean_of_means - losses.mlm) > 0.003
assert error > 0.2
assert counts[0] == 8
assert counts[1] > 3 * counts[0]
assert np.allclose(added.flat, grads.flat, atol=1e-12)

# %% [markdown]
# ## One table, two gradients
#
# The word table is used at both ends: the model looks words up in it, and scores words with it, logits
# $= x\,\text{table}^\top + b$. What is used twice gets the sum of both gradients:
#
# $$d\text{table} = \underbrace{\textstyle\sum_{t} \mathrm{onehot}(\text{id}_t)\, dy_t^\top}_{\text{words that were
# read}} + \underbrace{d\text{logits}^\top x}_{\text{every word}}$$
#
# where $dy_t$ is the gradient of the row that was looked up for token $t$. The first part has a row for each word in
# the input. The second has a row for *every* word, because every score has a
# gradient.

# %%
read = np.pad(whole.mlm_positions, ((0, 0), (1, 0)))             # [CLS], which the other loss reads, and the masked
hidden, _ = model.encode(whole.input_ids, whole.attention_mask, whole.token_type_ids, read)
ctx = PLAIN.context(PLAIN, config, model.params, whole.attention_mask)
_, cache = PLAIN.mlm_loss.forward(hidden, whole, None, ctx)
scored, dhidden = model.params.zeros_like(), np.zeros_like(hidden)
PLAIN.mlm_loss.backward(1.0, cache, ctx, scored, dhidden)         # adds into both

decoder_part = scored["embeddings.word"]
lookup_part = grads["embeddings.word"] - decoder_part
unread = np.setdiff1d(np.arange(config.vocab_size), whole.input_ids)
rows = [int((np.abs(part).max(axis=1) > 1e-12).sum()) for part in (lookup_part, decoder_part)]
print(f"rows with a gradient, of {config.vocab_size}:")
print(f"{rows[0]} by look-up, {rows[1]} by the decoder")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.abs(lookup_part[unread]).max() < 1e-12
assert rows == [config.vocab_size - len(unread), config.vocab_size]

# %% [markdown]
# ## LAMB: the direction is Adam's, the length is the tensor's own
#
# $$\begin{aligned}
# m &\leftarrow \beta_1 m + (1 - \beta_1)\, g \\
# v &\leftarrow \beta_2 v + (1 - \beta_2)\, g^2 \\
# u &= \frac{m}{\sqrt v + \varepsilon} + \lambda w
# \end{aligned}$$
#
# At the first step $u$ has nearly the same size for every weight, whatever the gradient. With $\beta_1 = 0.9$ and
# $\beta_2 = 0.999$, $m = 0.1 g$ and $\sqrt v = \sqrt{0.001}\,|g|$, so $u = \pm 3.16$ in each place, but for the weight
# decay $\lambda w$. (LAMB's paper corrects this bias of the first steps, and has $\pm 1$; ALBERT does not.) A step of
# the same size in each place is long for a tensor of small weights and short for one of large ones. So LAMB (layer-wise
# adaptive moments for batch training; You et al., 2019) measures both, for each tensor by itself, and multiplies the
# step by their *trust ratio* $r$:
#
# $$\begin{aligned}
# r &= \frac{\|w\|}{\|u\|} \qquad \Delta w = -\text{rate}\; r\, u \\
# \|\Delta w\| &= \text{rate}\,\frac{\|w\|}{\|u\|}\,\|u\| = \text{rate}\,\|w\|
# \end{aligned}$$
#
# With a rate of 0.01, each step changes each of these tensors by one per cent. Biases and the gains of norms are
# exempt: $r = 1$, no decay. (So is, for one step, a tensor that is all zero, which has no length to keep to.)

# %%
def lamb(w, g, m, v, rate, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01):
    m = betas[0] * m + (1 - betas[0]) * g
    v = betas[1] * v + (1 - betas[1]) * g**2
    u = m / (np.sqrt(v) + eps) + weight_decay * w
    r = np.linalg.norm(w) / np.linalg.norm(u)
    return w - rate * r * u, m, v, r

rng = np.random.default_rng(0)
w, g = 0.02 * rng.standard_normal((40, 30)), rng.standard_normal((40, 30))
zero = np.zeros_like(w)
new, m, v, r = lamb(w, g, zero, zero, rate=0.01)

*_, corrected = lamb_tensor(w, g, zero, zero, 0.01, t=1, bias_correction=True)
louder, *_ = lamb(w, 1000 * g, zero, zero, rate=0.01)
change = [np.linalg.norm(after - w) / np.linalg.norm(w) for after in (new, louder)]
u = np.abs(m / (np.sqrt(v) + 1e-6))
print(f"|u| from {u.min():.2f} to {u.max():.2f}")
print(f"r = {r:.4f}, near 0.02 / 3.16 = {0.02 / 3.16:.4f}")
print(f"‖Δw‖ / ‖w‖ = {change[0]:.4f}")
print(f"with 1000 times the gradient, {change[1]:.4f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(np.allclose(ours, theirs, rtol=1e-12)
           for ours, theirs in zip((new, m, v, r), lamb_tensor(w, g, zero, zero, 0.01), strict=True))  # fmt: skip
assert np.allclose(change, 0.01)
assert np.allclose(np.median(u), 3.16, atol=0.01)
assert abs(r - 0.02 / 3.16) < 2e-4
assert abs(corrected - 0.02) < 6e-4

# %% [markdown]
# Play ten steps of both, on weights of about 0.02 and of about 1. **Find out**: what do gradients 100 times as large
# change? At which rate does AdamW change the small tensor by more than itself in a step? And why does AdamW's bar
# become shorter and shorter there?

# %%
pushes = np.random.default_rng(2)
plots.lamb_beside_adam({
    name: (size * pushes.normal(size=(8, 8)), pushes.normal(size=(8, 8)) + pushes.normal(size=(10, 8, 8)))
    for name, size in (("weights of 0.02", 0.02), ("weights of 1", 1.0))
})  # fmt: skip

# %% [markdown]
# ## Side by side
#
# The same model, the same batch, thirty steps each: LAMB with rates up to 0.02 and AdamW with rates up to 0.002, which
# rise for five steps and then fall (the schedule below); gradients are clipped to a length of 1 for both. For each
# matrix we record the relative change in a step, $\|\Delta w\| / \|w\|$, and LAMB's trust ratios.
#
# **This does not show which of the two learns better**: their rates cannot be compared, and one batch is no corpus.
# LAMB was made for *large* batches; ALBERT's have 4,096 sequences. The larger a batch, the fewer steps for the same
# text, and the longer each has to be. A length relative to each tensor's own is meant to keep long steps from
# destroying small tensors. All matrices of this fresh model are drawn with one $\sigma$, and a batch of 16 needs no
# long steps.

# %%
def train(optimiser, peak, steps=30):
    model = Albert.init(config, seed=0)
    moments, schedule = Moments.zeros(model.params), Schedule(peak, steps, warmup=5)
    matrices = [name for name, tensor in model.params.items() if tensor.ndim > 1]
    changes, ratios, losses = {name: [] for name in matrices}, {name: [] for name in matrices}, []
    for step in range(steps):
        found, grads = model.loss_and_grads(small)
        before = {name: model.params[name].copy() for name in matrices}
        scale = clip_factor(global_norm(grads), 1.0)
        trust = optimiser.step(model.params, grads, moments, schedule.rate(step), step + 1, scale)
        for name in matrices:
            moved = np.linalg.norm(model.params[name] - before[name])
            changes[name].append(float(moved / np.linalg.norm(before[name])))
            ratios[name].append(float(trust.get(name, 1.0)))
        losses.append(float(found.total))
    return changes, ratios, losses, [schedule.rate(step) for step in range(steps)]

small = Batch.random(config, size=16, length=32, predictions=5)
lamb_changes, lamb_ratios, lamb_losses, rates = train(Lamb(), 0.02)
adam_changes, _, adam_losses, _ = train(AdamW(), 0.002)

print("loss of one batch, before and after:")
for name, losses in (("LAMB", lamb_losses), ("AdamW", adam_losses)):
    print(f"{name:5} {losses[0]:.2f} -> {losses[-1]:.2f}")
at_ten = sorted(values[10] for values in adam_changes.values())
print("‖Δw‖ / ‖w‖ at step 10:")
print(f"LAMB  {rates[10]:.4f}, all {len(lamb_changes)} matrices alike")
print(f"AdamW from {at_ten[0]:.4f} to {at_ten[-1]:.4f}")
plots.ratio_curves({
    "LAMB\n‖Δw‖ / ‖w‖ of each step: the rate, for every matrix": {f"all {len(lamb_changes)} matrices": rates},
    "AdamW\n‖Δw‖ / ‖w‖ of each step: another for every matrix": adam_changes,
})  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert small.input_ids.shape == (16, 32)
assert config.max_position_embeddings == 64
assert lamb_losses[-1] < 0.5 * lamb_losses[0]
assert adam_losses[-1] < 0.8 * adam_losses[0]
assert all(np.allclose(values, rates, rtol=1e-3) for values in lamb_changes.values())
assert at_ten[-1] > 1.4 * at_ten[0]

# %% [markdown]
# These are the trust ratios behind it. They begin near each other, because all matrices are drawn with the same
# $\sigma$ and all $u$ are of nearly the same size; where a gradient is tiny, $\varepsilon$ makes $u$ a little shorter.
# (Positions beyond the batch's 32 have no gradient, so that half of the position table's $u$ is nearly zero, and its
# ratio is higher by about $\sqrt 2$.) Then they part. A steady gradient's $u$ grows from 3.16 to 6.5 in ten steps,
# because $m$ fills faster than $\sqrt v$, and the ratio falls: so does the word table's. Where a gradient fades or
# changes its sign, $m$ is small beside $\sqrt v$, $u$ is short, and the ratio rises, as those of most matrices do here.

# %%
first, last = (np.array([values[step] for values in lamb_ratios.values()]) for step in (0, -1))
alike = np.median(first)
print("trust ratios, first step:")
print(f"  of the middle matrix {alike:.3f}")
print(f"  0.88 σ / 3.16 = {0.88 * config.initializer_range / 3.16:.3f}")
print(f"  of positions {lamb_ratios['embeddings.position'][0] / alike:.2f} times the middle one's")
print(f"last step: largest {last.max() / last.min():.1f} times the smallest")
plots.ratio_curves({"trust ratios\n‖w‖ / ‖u‖ of each matrix": lamb_ratios})

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(alike / (0.88 * config.initializer_range / 3.16) - 1) < 0.15
assert last.max() > 3 * last.min()
assert abs(lamb_ratios["embeddings.position"][0] / alike / 2**0.5 - 1) < 0.15

# %% [markdown]
# ## The schedule, with its quirks
#
# ALBERT's rate rises from zero, then falls in a straight line. Three things in its code are not as one would write them
# today. To train as it was trained, one has to know them:
#
# * it counts updates from 0, so the first update has rate 0: nothing moves;
# * the fall is counted from step 0, not from where the rise ends, so at that place the rate jumps down;
# * the peak is therefore never reached: the highest rate that is applied is 0.0017594, at step 3,124, and the next
#   step has 0.0017160.
#
# Why warm up at all? In the first steps the moments rest on few gradients, and Adam's and LAMB's steps have their full
# length all the same. Transformers whose norms come *after* each residual sum, as BERT's and ALBERT's do, train badly
# without it (Xiong et al., 2020). Nothing here tests that.
#
# The figure has a warm-up of a fifth of the run, so that one can see it; ALBERT's is a fortieth. Beside ALBERT's line
# it has two other shapes of `Schedule`.

# %%
albert = Schedule(peak=0.00176, steps=125_000, warmup=3125)
for step in (0, 1, 3124, 3125, 124_999):
    print(f"step {step:7,}   rate {albert.rate(step):.4g}")

shapes = {shape: Schedule(1.0, 100, 20, shape) for shape in ("linear", "cosine", "constant")}
names = {"linear": "linear (ALBERT)", "cosine": "cosine", "constant": "constant"}
plots.ratio_curves({
    "rate\nas a share of the peak; 100 steps, 20 of them warm-up":
        {names[shape]: [schedule.rate(step) for step in range(101)] for shape, schedule in shapes.items()}
}, log=False)  # fmt: skip

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert albert.rate(0) == 0
assert np.isclose(albert.rate(3125), 0.0017160)
assert np.isclose(albert.rate(3124), 0.00175944)
assert max(albert.rate(step) for step in range(3200)) < 0.00176
assert 125_000 / 3125 == 40

# %% [markdown]
# ## In one sentence
#
# The gradient for a target's scores is $p - \text{onehot}$, divided by the number of targets in the whole batch; LAMB
# moves each matrix by the rate times its norm, whatever the gradient's size. (Which optimiser learns better was not
# asked here.)
#
# ## Next
#
# Losses and the tied decoder: `minalbert exercise start ex09`. LAMB, and what this page passed over, clipping and the
# rate that goes with a batch: `minalbert exercise start ex10`.
