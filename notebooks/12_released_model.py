# %% [markdown]
# # 12. A released model, and where two models part
#
# Somebody else trained a model and gives you two files. You read them with code of your own, run the model, and numbers
# come out. Are they the *right* numbers? Almost any mistake in reading gives a model that runs and computes something
# else.
#
# The released models are large, and you may have no network. So the course brings a small one: a directory that
# `transformers` wrote (its weights are drawn, not trained), and beside it the hidden states and logits that
# `transformers` computed from it, on PyTorch, in float64. Whoever can read the small one can read the large one.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import json
import os
from importlib import resources
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from minalbert import Albert, Params, train
from minalbert.interop.state_dict import from_state_dict, names
from minalbert.layers import gelu_erf_forward, gelu_forward, softmax
from minalbert.plots import layer_differences
from minalbert_course import outside

directory = Path(str(resources.files(outside))) / "ex13"
theirs = outside.numbers("ex13")  # by exercises/outside/ex13.py
print(sorted(path.name for path in directory.iterdir() if path.is_file()))
for name, array in theirs.items():
    print(f"{name:15} {array.shape}")

# %% [markdown]
# Two sequences of six tokens, the second with one place of padding. There are four hidden states for three layers: what
# enters the first layer, and what leaves each.
#
# ## What is in the files
#
# `config.json` has the sizes and the switches. A switch that is read wrong raises nothing: `"gelu_new"` is GELU's tanh
# form, `"gelu"` the erf form; `layer_norm_eps` is $10^{-12}$ in Google's models, and here $10^{-3}$, so that a mistake
# shows.

# %%
config_json = json.loads((directory / "config.json").read_text())
for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "hidden_act", "layer_norm_eps"):
    print(f"{key:20} {config_json[key]}")
state = load_file(directory / "model.safetensors")
print(len(state), "tensors,", sum(array.size for array in state.values()), "numbers")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert len(state) == 32
assert config_json["hidden_act"] == "gelu_new"

# %% [markdown]
# ## Names and orientations
#
# A name is a module and a leaf. There are four kinds of leaves:
#
# | what it is | theirs | ours |
# |---|---|---|
# | table of embeddings | `….weight` $(V, E)$ | as it is |
# | norm | `….weight`, `….bias` | `….gain`, `….bias` |
# | linear layer | `….weight` (out, in), `….bias` | `….w` (in, out), `….b` |
# | bias over the words | `predictions.bias` | `mlm.bias` |
#
# Only one kind is transposed. PyTorch's `Linear` computes $y = x W^\top + b$, ours $y = x w + b$, so $w = W^\top$.
# Where a matrix is not square, a forgotten transpose raises an error of shapes. Four of the block's six matrices, and
# the pooler's, are square: there it raises nothing.

# %%
model = Albert.from_pretrained(directory, dtype="float64")
table = names(model.config)  # their name -> ours
theirs_of = {ours: name for name, ours in table.items()}
for ours in ("embeddings.word", "embeddings.norm.gain", "encoder.attention.query.w", "encoder.ffn.up.w", "mlm.bias"):
    print(theirs_of[ours].replace("albert_layers", "\n  albert_layers"))
    print(f"  {state[theirs_of[ours]].shape} -> {model.params[ours].shape}")
    print(f"  {ours}")
square = [ours for ours in table.values() if ours.endswith(".w") and len(set(model.params[ours].shape)) == 1]
print("square:", *square, sep="\n  ")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert len(square) == 5

# %% [markdown]
# Ten lines read the whole file, given the table of names:

# %%
arrays = {}
for name, array in state.items():
    ours = table[name]
    arrays[ours] = array.T if ours.endswith(".w") else array

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert arrays.keys() == model.params.keys() == from_state_dict(state, model.config).keys()
assert all(np.array_equal(arrays[name], model.params[name]) for name in arrays)

# %% [markdown]
# ## The same numbers?
#
# Do not compare the end alone, but every hidden state on the way, each by its largest difference. In float64 two
# libraries that do the same sums in another order differ by some $10^{-16}$ of what they add; $10^{-9}$ is far above
# that, and far below the mistakes that follow.


# %%
def difference(ours, theirs):
    return [float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True)]


inputs = [theirs[name] for name in ("input_ids", "attention_mask", "token_type_ids")]
states, (_, pooled) = model.hidden_states(*inputs), model.encode(*inputs)
right = difference(states, theirs["hidden_states"])
words, orders = theirs["mlm_logits"], theirs["sop_logits"]
logits = difference([model.mlm_logits(states[-1]), model.sop_logits(pooled)], [words, orders])
LIMIT = 1e-9
print(f"largest difference, states {max(right):.0e}")
print(f"largest difference, logits {max(logits):.0e}")
print(f"the limit                  {LIMIT:.0e}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert max(right + logits) < LIMIT

# %% [markdown]
# The padded place is compared, too. No loss reads it, but both models compute it, and a wrong mask shows there.
#
# ## A mistake, planted
#
# Now read the file with one transpose forgotten, that of the query. Nothing is raised. The logits are numbers of a
# reasonable size.


# %%
def read_with(change):
    wrong = {name: change(name, array) for name, array in arrays.items()}
    return Albert(model.config, Params.from_arrays(wrong, model.params.shapes, "float64"))


untransposed = read_with(lambda name, array: array.T if name == "encoder.attention.query.w" else array)
bad_states = untransposed.hidden_states(*inputs)
query = difference(bad_states, theirs["hidden_states"])
print("spread of the logits:")
for name, of in (("right", states[-1]), ("query as it lies in the file", bad_states[-1])):
    print(f"  {name:30} {model.mlm_logits(of).std():.2f}")
print("differences:", *(f"{d:.3f}" for d in query))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert query[0] < LIMIT
assert min(query[1:]) > 0.5

# %% [markdown]
# What enters the first layer is right, so tables, embedding norm and projection are; what leaves it is not. The mistake
# is in the block. The *first* difference tells the place: after it everything differs.
#
# Other mistakes differ elsewhere. Here are two more: the norm's gain and bias exchanged in the embeddings, and the
# activation's other form, GELU by erf.

# %%
exchanged = {"embeddings.norm.gain": "embeddings.norm.bias", "embeddings.norm.bias": "embeddings.norm.gain"}
norms = read_with(lambda name, array: arrays[exchanged.get(name, name)])
erf = Albert(model.config.replace(hidden_act="gelu"), model.params)
found = {
    "read rightly": right,
    "query not turned": query,
    "gain for bias": difference(norms.hidden_states(*inputs), theirs["hidden_states"]),
    "erf for tanh": difference(erf.hidden_states(*inputs), theirs["hidden_states"]),
}


def first_difference(differences, limit):
    return next((i for i, d in enumerate(differences) if not d <= limit), None)  # NaN <= limit is False, too


for name, differences in found.items():
    print(f"{name:18} first difference: {first_difference(differences, LIMIT)}")
x = np.linspace(-6, 6, 100_001)
gelus = np.abs(gelu_forward(x)[0] - gelu_erf_forward(x)[0])
print(f"tanh and erf form: at most {gelus.max():.2e} apart,")
print(f"at |x| = {abs(x[gelus.argmax()]):.1f}; the states then {max(found['erf for tanh']):.4f}")
layer_differences(found, LIMIT, title="Four readings of one file")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert [first_difference(d, LIMIT) for d in found.values()] == [None, 1, 0, 1]
assert 4.7e-4 < gelus.max() < 4.8e-4
assert LIMIT < max(found["erf for tanh"]) < 1e-2

# %% [markdown]
# Query and GELU differ from the same layer on, by very different amounts: the two GELUs are never further apart than
# $4.8 \cdot 10^{-4}$. With a limit of $10^{-2}$ that mistake is not found at all; so the limit belongs near rounding
# errors, not near what looks small. Within the layer one continues in the same way: compare queries, scores,
# probabilities, context.
#
# ## Filling a mask
#
# The logits at one place, through a softmax over *all* words, are the model's probabilities. From position 4 of the
# first sequence, ours beside those of `transformers`:

# %%
ours_p = softmax(model.mlm_logits(states[-1], [[4], [4]]))[0, 0]
theirs_p = softmax(theirs["mlm_logits"])[0, 4]
for word in np.argsort(-theirs_p)[:3]:
    print(f"word {word:2}   theirs {theirs_p[word]:.1%}   ours {ours_p[word]:.1%}")
bad_p = softmax(untransposed.mlm_logits(bad_states[-1], [[4], [4]]))[0, 0]
print(f"with the wrong query: word {bad_p.argmax()}, {bad_p.max():.1%}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.allclose(ours_p, theirs_p, atol=1e-12)
assert bad_p.argmax() == theirs_p.argmax() == 7

# %% [markdown]
# A look at a few filled masks is a weak test: here the wrong query leaves the first word where it was. A trained model
# with a small mistake, too, may fill in words that look sensible.
#
# ## The real one
#
# huggingface.co/albert/albert-base-v2 has `config.json`, `model.safetensors` and the tokenizer `spiece.model`. Put them
# into one directory. The next cell reads it, if the environment variable `ALBERT_BASE` says where that is. On the
# command line, `minalbert fill "the capital of france is [MASK]." --model albert-base-v2` does the same.

# %%
released = os.environ.get("ALBERT_BASE")
if released:
    base, tokenizer, _ = train.open_trained(released)
    print(train.fill(base, tokenizer, "the capital of france is [MASK].").guesses[0])
else:
    print("ALBERT_BASE is not set; the small model")
    print("above was read by the same code")

# %% [markdown]
# To compare it state by state you need `transformers` once, in any environment: run `AlbertForPreTraining` in float64
# with `output_hidden_states=True` on a few ids, save the arrays with `np.savez`, and compare as above.
# `exercises/outside/ex13.py` is that script for the small model. `make parity` does it with many configurations.
#
# **Next:** write the reader yourself: `minalbert exercise start ex13`.
