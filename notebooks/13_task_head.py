# %% [markdown]
# # 13. A head from nothing
#
# A pretrained encoder gives a vector for each token. How does it learn to answer a question about a text? You write a
# head on top of `model.forward`: its loss, its backward pass, a gradient check through the whole model, and sixty steps
# of training. Then the library's heads do the same.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import tempfile
import textwrap
from pathlib import Path

import numpy as np

from minalbert import PRESETS, Albert, Batch, Params, data, layers, plots, tasks
from minalbert.gradcheck import check_pair
from minalbert.optim import AdamW, Moments, global_norm


def show(report):
    for line in str(report).splitlines():
        print(textwrap.fill(line, 42, subsequent_indent="      "))

# %% [markdown]
# ## A task
#
# Tiny worlds tell stories of many scripts. The task: is a text of three sentences about the ferry, or about the
# lighthouse? The label is a sign, $y = +1$ for the ferry and $y = -1$ for the lighthouse.

# %%
SIGNS = {"ferry": 1, "light": -1}
worlds = data.TinyWorlds(ring_fraction=1.0)
tokenizer = data.WordTokenizer(worlds.words())
texts, signs = [], []
for number, document in enumerate(worlds.documents(0, 3000)):
    script = worlds.story(number).schema
    if script in SIGNS:
        texts.append(" ".join(document.sentences[:3]))
        signs.append(SIGNS[script])
signs = np.array(signs)
CLS, SEP = (tokenizer.pieces.index(piece) for piece in ("[CLS]", "[SEP]"))
ids = [[CLS, *tokenizer.encode(text), SEP] for text in texts]
print(f"{len(texts)} texts, {np.mean(signs > 0):.0%} of them about the ferry")
for number in (0, 1):
    print(textwrap.fill(f"{signs[number]:+d}  {texts[number]}", 42, subsequent_indent="    "))

# %% [markdown]
# ## A head and its loss
#
# The encoder gives a vector $h_t$ of $H$ numbers for each token. Take their mean over the $n$ tokens that a text has,
# without padding, and from the mean one score:
#
# $$\begin{gathered}
# \bar h = \frac1n \sum_{t \le n} h_t \qquad s = \bar h \cdot w + c \\[1em]
# \ell = \log\left(1 + e^{-y s}\right)
# \end{gathered}$$
#
# The loss is small where the score has the sign of the label. It is $-\log p$ with $p = 1 / (1 + e^{-y s})$, the
# probability that the model gives to the right label. The batch's loss is the mean over its $B$ texts.
#
# Backward, in reverse order. The derivative of $\log(1 + e^{-ys})$ with respect to $s$ is $-y / (1 + e^{ys})$, which is
# $-y\,(1 - p)$: a text that is classified with certainty changes nothing. Then
#
# $$\begin{gathered}
# \frac{\partial \ell}{\partial w} = \bar h\, ds \qquad \frac{\partial \ell}{\partial c} = ds \\[1em]
# \frac{\partial \ell}{\partial h_t} = \frac1n\, w\, ds \ \text{ if } t \le n, \text{ and } 0 \text{ for padding}
# \end{gathered}$$
#
# Each of the $n$ tokens gets the same gradient, an $n$-th of what the mean gets. Here are both pairs, in the form that
# all layers have. The loss is checked by differences: `np.logaddexp` takes no complex numbers.


# %%
def head_forward(hidden, w, c, there):
    """hidden (B, T, H), w (H,), c (1,), there (B, T): 1 for a token, 0 for padding -> scores (B,)"""
    share = there / there.sum(axis=1, keepdims=True)
    mean = np.einsum("bt,bth->bh", share, hidden)
    return mean @ w + c, (share, mean, w)


def head_backward(dscores, cache):
    share, mean, w = cache
    dhidden = share[:, :, None] * dscores[:, None, None] * w
    return dhidden, mean.T @ dscores, dscores.sum(keepdims=True), None


def loss_forward(scores, signs):
    margins = signs * scores
    return np.logaddexp(0, -margins).mean(), (margins, signs)


def loss_backward(dloss, cache):
    margins, signs = cache
    return -dloss * signs / (1 + np.exp(margins)) / len(signs), None


rng = np.random.default_rng(12)
H = 64
three = Batch.pad(ids[:3])
there = three.attention_mask
hidden, w, c = rng.standard_normal((*there.shape, H)), rng.standard_normal(H), np.array([0.3])
show(check_pair(head_forward, head_backward, {"hidden": hidden, "w": w, "c": c, "there": there}, name="head"))
show(check_pair(loss_forward, loss_backward, {"scores": rng.standard_normal(3), "signs": signs[:3]}, name="loss"))


def forgetful_backward(dscores, cache):
    share, mean, w = cache
    return head_backward(dscores, (np.where(share > 0, 1.0, 0.0), mean, w))  # without 1/n


wrong = check_pair(head_forward, forgetful_backward, {"hidden": hidden, "w": w, "c": c, "there": there}, name="no 1/n")
show(wrong)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert not wrong.passed
assert check_pair(head_forward, head_backward, {"hidden": hidden, "w": w, "c": c, "there": there}).passed
assert check_pair(loss_forward, loss_backward, {"scores": rng.standard_normal(3), "signs": signs[:3]}).passed

# %% [markdown]
# The loss and its slope for a text with $y = +1$, over the score:

# %%
line = np.linspace(-6, 6, 241)
plots.curves(line, {
    "loss\nof one text, over its score": {"log(1 + exp(-s))": np.logaddexp(0, -line)},
    "slope\nof that loss": {"-(1 - p)": loss_backward(1.0, (line, np.ones(241)))[0] * 241},
})  # fmt: skip

# %% [markdown]
# ## Through the whole model
#
# `model.forward` returns an encoding with `.hidden`, and `encoding.backward(dhidden=...)` takes the head's gradient
# through all layers down to the word table. That is all a head needs from the library:


# %%
def loss_and_grads(model, head, sequences, signs):
    inputs = Batch.pad(sequences)
    encoding = model.forward(*inputs)
    scores, head_cache = head_forward(encoding.hidden, head["head.w"], head["head.c"], inputs.attention_mask)
    loss, loss_cache = loss_forward(scores, signs)
    dscores, _ = loss_backward(1.0, loss_cache)
    dhidden, dw, dc, _ = head_backward(dscores, head_cache)
    head_grads = Params.from_arrays({"head.w": dw, "head.c": dc}, head.shapes, head.dtype)
    return loss, encoding.backward(dhidden=dhidden), head_grads


config = PRESETS["tiny"].replace(
    vocab_size=tokenizer.vocab_size, num_hidden_layers=2, max_position_embeddings=96, initializer_range=0.125
)


def fresh(seed=0, dtype="float64"):
    model = Albert.init(config, seed=seed, heads=("pooler",), dtype=dtype)
    drawn = {"head.w": 0.125 * np.random.default_rng(seed).standard_normal(H), "head.c": np.zeros(1)}
    return model, Params.from_arrays(drawn, {"head.w": (H,), "head.c": (1,)}, dtype)


model, head = fresh()
_, grads, head_grads = loss_and_grads(model, head, ids[:3], signs[:3])


def numeric_slope(vector, direction, step=1e-5):
    """How fast the loss grows along a direction, by central differences; `vector` is changed, and restored."""
    kept, losses = vector.copy(), []
    for sign in (1, -1):
        vector[...] = kept + sign * step * direction
        losses.append(loss_and_grads(model, head, ids[:3], signs[:3])[0])
        vector[...] = kept
    return (losses[0] - losses[1]) / (2 * step)


found = []
checked = ("embeddings.word", "embeddings.projection.w", "encoder.attention.query.w", "encoder.ffn.up.w", "head.w")
for name in checked:
    vector, gradient = (model.params[name], grads[name]) if name in grads else (head[name], head_grads[name])
    direction = rng.standard_normal(vector.shape)
    ours, numeric = (gradient * direction).sum(), numeric_slope(vector, direction)
    print(f"{name}\n  backward {ours:+.6f}, numeric {numeric:+.6f}")
    found.append(abs(ours - numeric) / max(1, abs(ours)))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(found) < 1e-6

# %% [markdown]
# Central differences in float64 agree to the digits that they have (notebook 02). The pooler got no gradient, because
# this head does not read it.
#
# ## What a fresh head does to a good encoder
#
# The encoder's gradient has a factor $w$, and a fresh head's $w$ means nothing. So the first steps move the encoder in
# a random direction, with a strength about proportional to $w$. (The encoder below has fresh weights as well; the
# factor is the same for a pretrained one.) With $w = 0$ the encoder gets no gradient at all in the first step, and the
# head learns alone:

# %%
norms = {}
print("norm of the gradient of  encoder    head")
for factor in (0, 1, 2):
    scaled = Params.from_arrays({"head.w": factor * head["head.w"], "head.c": head["head.c"]}, head.shapes, "float64")
    _, encoder_grads, head_grads = loss_and_grads(model, scaled, ids[:32], signs[:32])
    norms[factor] = of_encoder, of_head = global_norm(encoder_grads), global_norm(head_grads)
    print(f"w times {factor}{of_encoder:23.3f}{of_head:8.3f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert norms[0][0] == 0 < min(norms[1][0], norms[2][0])
assert min(head_norm for _, head_norm in norms.values()) > 0.1

# %% [markdown]
# This is one reason for a small learning rate and a warm-up in fine-tuning. It is also why many people *freeze* the
# encoder and train the head alone; notebook 14 has numbers for both.
#
# ## Sixty steps
#
# Fresh weights, no pretraining; 600 texts to train on, the others to test on.

# %%
SIZE, TRAIN = 16, 600


def accuracy(model, head):
    right = []
    for first in range(TRAIN, len(ids), 50):
        part = slice(first, first + 50)
        inputs = Batch.pad(ids[part])
        scores, _ = head_forward(model.encode(*inputs)[0], head["head.w"], head["head.c"], inputs.attention_mask)
        right += list(scores * signs[part] > 0)
    return np.mean(right)


def train(model, head, steps, rate, frozen=False):
    optimiser, rng = AdamW(), np.random.default_rng(0)
    model_moments, head_moments = Moments.zeros(model.params), Moments.zeros(head)
    for t in range(1, steps + 1):
        chosen = rng.choice(TRAIN, SIZE, replace=False)
        _, grads, head_grads = loss_and_grads(model, head, [ids[i] for i in chosen], signs[chosen])
        optimiser.step(head, head_grads, head_moments, rate * min(1, t / 10), t)
        if not frozen:
            optimiser.step(model.params, grads, model_moments, rate * min(1, t / 10), t)


found = {}
print("sixty steps      before    after")
for name, frozen in (("all weights", False), ("the head alone", True)):
    model, head = fresh()
    before = accuracy(model, head)
    train(model, head, 60, 0.003, frozen)
    found[name] = accuracy(model, head)
    print(f"{name:15}{before:8.0%}{found[name]:9.0%}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert found["all weights"] > 0.95

# %% [markdown]
# The words give the scripts away, so this task needs no pretraining, if all weights are trained. The head alone stays
# at guessing, 51 % after 49 %: in these sixty steps it learns nothing from an encoder whose weights are fresh and stay
# so. Freezing is meant for a pretrained encoder. Notebook 14 comes back to both.
#
# ## The library's heads
#
# The library's classifier has a score for each of K labels, and a softmax over them. For two labels that is the same
# function: with scores $-s/2$ and $+s/2$ the softmax gives $1/(1 + e^{-s})$ to the second one. So the library's layers
# must give our loss and our gradients:

# %%
w_two = np.stack([-head["head.w"] / 2, head["head.w"] / 2], axis=1)
c_two = np.array([-head["head.c"][0] / 2, head["head.c"][0] / 2])
scores, cache = head_forward(hidden, head["head.w"], head["head.c"], there)
loss, loss_cache = loss_forward(scores, signs[:3])
dhidden, dw, _, _ = head_backward(loss_backward(1.0, loss_cache)[0], cache)

logits, linear = layers.linear_forward(cache[1], w_two, c_two)
theirs, entropy = layers.cross_entropy_forward(logits, (signs[:3] > 0).astype(int), np.ones(3))
dlogits, _, _ = layers.cross_entropy_backward(1.0, entropy)
dmean, dw_two, _ = layers.linear_backward(dlogits, linear)
print(f"loss: ours {loss:.6f}, library's {theirs:.6f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(loss - theirs) < 1e-12
assert np.allclose(dmean[:, None] * cache[0][:, :, None], dhidden, rtol=0, atol=1e-12)
assert np.allclose((dw_two[:, 1] - dw_two[:, 0]) / 2, dw, rtol=0, atol=1e-12)

# %% [markdown]
# A whole fine-tuning is one call, with the loop, the checkpoints and the log of pretraining. It reads files, of GLUE,
# SQuAD, RACE or of your own; here are ours, as two tables of tab-separated columns. On the command line:
#
#     minalbert finetune runs/ferry --task custom --data ferry --model fresh --steps 60 --rate 0.003
#
# The library's classifier reads the pooled state of [CLS], as ALBERT does, and not the mean.

# %%
with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    names = {1: "ferry", -1: "lighthouse"}
    (folder / "ferry").mkdir()
    for split, part in (("train", slice(TRAIN)), ("dev", slice(TRAIN, None))):
        rows = [f"{text}\t{names[sign]}\n" for text, sign in zip(texts[part], signs[part], strict=True)]
        (folder / "ferry" / f"{split}.tsv").write_text("sentence\tlabel\n" + "".join(rows), encoding="utf-8")
    fresh(dtype="float32")[0].save_pretrained(folder / "fresh", tokenizer)
    settings = tasks.TaskSettings().change(
        task="custom", data=str(folder / "ferry"), weights=str(folder / "fresh"), steps=60, rate=0.003, batch=SIZE
    )
    result = tasks.finetune(settings, folder / "run")
    said = tasks.classify(tasks.open_finetuned(folder / "run"), "maud sounded the horn at the captain .")
    metric, share = result.after.headline()[0]
print(f"{result.step} steps, {metric} on other texts: {share:.0%}")
print(f"maud sounded the horn at the captain .\n  {said.labels[0][0]}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert share > 0.9
assert said.found == "ferry"

# %% [markdown]
# ## Tasks for the reader
#
# **1. Another head.** Take the largest of each number over the tokens instead of the mean, $\max_{t} h_{t,i}$ for
# number $i$. Forward is here; write backward, and let the check tell you whether it is right. (Which token gets the
# gradient of number $i$?)


# %%
def max_forward(hidden, w, c, there):
    masked = np.where(there[:, :, None] == 1, hidden, -1e30)
    place = masked.real.argmax(axis=1)  # (B, H): which token has the largest
    largest = np.take_along_axis(hidden, place[:, None], axis=1)[:, 0]
    return largest @ w + c, (hidden.shape, place, largest, w)


def max_backward(dscores, cache):
    """dscores (B,) -> dhidden (B, T, H), dw (H,), dc (1,), None"""
    dhidden = dw = dc = None  # your answer here; np.put_along_axis writes at `place`
    return dhidden, dw, dc, None


if max_backward(np.ones(3), max_forward(hidden, w, c, there)[1])[0] is None:
    print("max_backward is not written yet")
else:
    print(check_pair(max_forward, max_backward, {"hidden": hidden, "w": w, "c": c, "there": there}, name="max"))

# %% [markdown]
# **2. Which token pays?** With the mean, each token gets an $n$-th of the gradient. With the maximum, how many tokens
# get any? What follows for a text of 500 tokens, in the first steps?
#
# *Your answer:*
#
# **3. Three labels.** Write loss and slope for three labels with a softmax, and check them. What becomes of
# $-y\,(1 - p)$?
#
# *Your answer:*
#
# ## Next
#
# Notebook 14 asks what pretraining is worth to such a head. Exercise 14 is the classification head as ALBERT has it,
# exercise 15 an answer in a text:
#
#     minalbert exercise start ex14
#     minalbert exercise start ex15
