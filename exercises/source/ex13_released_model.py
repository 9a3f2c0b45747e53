# %% [markdown]
# # Exercise 13: a released model
#
# A model that others trained comes as two files: `config.json`, its sizes and switches, and `model.safetensors`, its
# arrays under their names. Whoever reads it with code of their own must get every name, every orientation and every
# switch right; almost any mistake gives a model that runs, and computes something else. You write the reader, and the
# tool that finds the layer where two models part. Arrays may be transposed, or parts of larger ones: then `reshape` may
# return a copy. Do not write into arguments.

# %%
import dataclasses
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from minalbert import AlbertConfig

# %% [markdown]
# ## Their names and ours
#
# transformers calls the gain of the norm after attention
# `albert.encoder.albert_layer_groups.0.albert_layers.0.attention.LayerNorm.weight`; ours is
# `encoder.attention.norm.gain`. A name is a module and a leaf, the part after the last dot. Here are all modules of a
# model whose layers share one set of weights (others are not asked for). In a file of the whole model, those that begin
# with `embeddings.`, `encoder.` or `pooler` have `albert.` before them; in one of the bare trunk (`AlbertModel`)
# nothing has, and there are no heads.

# %%
LAYER = "encoder.albert_layer_groups.0.albert_layers.0"
MODULES = {
    "embeddings.word_embeddings": "embeddings.word",
    "embeddings.position_embeddings": "embeddings.position",
    "embeddings.token_type_embeddings": "embeddings.token_type",
    "embeddings.LayerNorm": "embeddings.norm",
    "encoder.embedding_hidden_mapping_in": "embeddings.projection",
    f"{LAYER}.attention.query": "encoder.attention.query",
    f"{LAYER}.attention.key": "encoder.attention.key",
    f"{LAYER}.attention.value": "encoder.attention.value",
    f"{LAYER}.attention.dense": "encoder.attention.output",
    f"{LAYER}.attention.LayerNorm": "encoder.attention.norm",
    f"{LAYER}.ffn": "encoder.ffn.up",
    f"{LAYER}.ffn_output": "encoder.ffn.down",
    f"{LAYER}.full_layer_layer_norm": "encoder.ffn.norm",
    "pooler": "pooler",
    "predictions.dense": "mlm.dense",
    "predictions.LayerNorm": "mlm.norm",
    "predictions": "mlm",
    "sop_classifier.classifier": "sop",
}

# %% [markdown]
# The leaves:
#
# | what it is | theirs | ours |
# |---|---|---|
# | table of embeddings | `albert.embeddings.word_embeddings.weight` (V, E) | `embeddings.word` (V, E) |
# | norm | `predictions.LayerNorm.weight`, `.bias` | `mlm.norm.gain`, `.bias` |
# | linear layer | `predictions.dense.weight` (E, H), `.bias` | `mlm.dense.w` (H, E), `.b` |
# | bias over the words | `predictions.bias` | `mlm.bias` |
#
# torch's `Linear` computes $y = x W^\top + b$ with $W$ (out, in); ours is $y = x\,w + b$ with $w$ (in, out). Old files
# hold more: `predictions.decoder.weight` and `.bias`, which are the word table and `predictions.bias` once more, and
# `albert.embeddings.position_ids`. Leave out what belongs to no module of the table.

# %%
def translate(state):
    """state: dict, their names -> arrays   Returns params: dict, our names -> arrays."""
    ### HINT Take the name apart first: prefix, module, leaf. What kind of module it is says what the leaf becomes.
    ### HINT weight -> "" (table), "gain" (norm), "w" and transposed (linear); bias -> "b" of linear, else "bias".
    ### HINT removeprefix, rpartition at the last dot; skip unknown modules. Linear weights are (out, in): .T.
    ### BEGIN SOLUTION
    params = {}
    for name, array in state.items():
        module, _, leaf = name.removeprefix("albert.").rpartition(".")
        if module not in MODULES:
            continue
        ours = MODULES[module]
        if module.endswith("_embeddings"):
            params[ours] = array
        elif ours.endswith("norm"):
            params[f"{ours}.gain" if leaf == "weight" else f"{ours}.bias"] = array
        elif module == "predictions":
            params["mlm.bias"] = array
        elif leaf == "weight":
            params[f"{ours}.w"] = array.T
        else:
            params[f"{ours}.b"] = array
    return params
    ### END SOLUTION


# %% [markdown]
# ## The configuration
#
# `config.json` has the sizes under the names that `AlbertConfig` has for them, and other keys beside. Return those for
# which `AlbertConfig` has a field, with their values as they are; what the file does not say, leave out.
#
# A layer of transformers may consist of several inner ones with weights of their own, `inner_group_num` of them. Ours
# has one: where the key is there and not 1, raise `ValueError`.

# %%
def read_config(text):
    """text: the text of a config.json   Returns config: dict, fields of AlbertConfig -> values."""
    ### HINT Two things can be in the file that you cannot use: one does no harm, the other does. Which is which?
    ### HINT Keep the keys that are names of dataclasses.fields(AlbertConfig). A key that is missing is no harm.
    ### HINT json.loads; a ValueError if inner_group_num is there and not 1; a dict of AlbertConfig's keys.
    ### BEGIN SOLUTION
    data = json.loads(text)
    if data.get("inner_group_num", 1) != 1:
        raise ValueError(f"inner_group_num is {data['inner_group_num']}; only 1 can be read")
    fields = {field.name for field in dataclasses.fields(AlbertConfig)}
    return {key: value for key, value in data.items() if key in fields}
    ### END SOLUTION


# %% [markdown]
# ## A directory
#
# Both files together; other files may lie beside them, and may be of the same kinds. `load_file(path)` of the library
# safetensors gives the dict of a `model.safetensors`. The check has a small directory that transformers wrote, and
# compares what a model of your config and params computes with the hidden states and logits of transformers' own.

# %%
def load(directory):
    """directory: path, a string   Returns config, params: the dicts of the two functions above."""
    ### HINT The two functions above do the work; this one finds the files.
    ### HINT directory/config.json is text for read_config, directory/model.safetensors gives the state for translate.
    ### HINT pathlib's Path and / find the files: read_text for the config, load_file for the tensors.
    ### BEGIN SOLUTION
    directory = Path(directory)
    config = read_config((directory / "config.json").read_text(encoding="utf-8"))
    return config, translate(load_file(directory / "model.safetensors"))
    ### END SOLUTION


# %% [markdown]
# ## Where two models part
#
# Same input, other logits: where is the mistake? Compare the states between the layers. `ours` and `theirs` are lists
# of as many arrays, of pairwise the same shape: what enters the first layer, and what leaves each. Two arrays differ
# where the largest absolute difference is above `limit`, or where ours is not a number, whatever theirs is. Theirs are
# numbers where ours are.

# %%
def first_difference(ours, theirs, limit):
    """ours, theirs: lists of arrays   Returns the index of the first pair that differs, a whole number, or None."""
    ### HINT After the first mistake everything differs: the first index is the news. And what is nan > limit?
    ### HINT The first i for which max |ours[i] - theirs[i]| <= limit is not true.
    ### HINT enumerate over zip. Write the test as `not largest <= limit`, which nan fails too; after the loop, None.
    ### BEGIN SOLUTION
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if not np.abs(a - b).max() <= limit:
            return i
    return None
    ### END SOLUTION


# %% [markdown]
# ## A missing word
#
# The logits of one masked place, one for each word: which words does the model believe in?
# A word that stands in the list twice has two logits, and is two guesses. Equal logits stand in any order. Logits
# lie between -20000 and 20000, and may be far apart; none may overflow.

# %%
def fill_mask(logits, words, k):
    """logits (V,)   words: list of V strings   k: from 1 to V

    Returns a list of k pairs (word, probability), best first; of equally probable words any may come first.
    """
    ### HINT Probabilities are the softmax over all words, not over the best few.
    ### HINT p = exp(logits - max) / Σ exp(logits - max); the k largest, in falling order.
    ### HINT order = np.argsort(-logits)[:k]; then [(words[i], float(p[i])) for i in order].
    ### BEGIN SOLUTION
    p = np.exp(logits - logits.max())
    p = p / p.sum()
    return [(words[i], float(p[i])) for i in np.argsort(-logits)[:k]]
    ### END SOLUTION


# %% [markdown]
# ## The real one, and your own
#
# huggingface.co/albert/albert-base-v2 has `config.json`, `model.safetensors` and the tokenizer `spiece.model`; put them
# into a directory `albert-base-v2`. Then `load("albert-base-v2")` is Google's model, and
#
#     minalbert fill "the capital of france is [MASK]." --model albert-base-v2
#
# asks the library's reader the same.
#
# With this exercise you have written all of ALBERT. In a folder with the files of your exercises,
#
#     minalbert data build --tiny-worlds 20000 --out worlds
#     minalbert pretrain runs/all-mine --corpus worlds --optimiser lamb --with .
#
# trains a model whose layers, encoder, losses and optimiser are yours, in the place of the library's.
#
# ## Question
#
# Suppose you transpose every matrix but the query's, which is square. Nothing is raised, and the model gives numbers
# that look reasonable. How would you find the mistake with `first_difference`, given transformers' hidden states? Why
# might a test of the model's accuracy, or looking at a few filled masks, not find it?
