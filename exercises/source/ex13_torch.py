# %% [markdown]
# # Exercise 13: a model of PyTorch's layers, in shards
#
# Somebody has built ALBERT of PyTorch's own layers, `nn.Embedding`, `nn.Linear`, `nn.LayerNorm` and
# `nn.TransformerEncoderLayer`, and has released what was trained: `config.json`, its sizes and switches, and its arrays
# under their names in several files, the shards. Whoever reads them with code of their own must get every name, every
# orientation and every switch right; almost any mistake gives a model that runs, and computes something else. You write
# the reader, and the tool that finds the layer where two models part. Arrays may be transposed, or parts of larger
# ones: then `reshape` may return a copy. Do not write into arguments.

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
# A name is a module and a leaf, the part after the last dot. Here are all modules but one; `layer` is the one layer
# that is applied again and again. Files of a model that was wrapped for training on several GPUs have `module.` before
# every name.

# %%
MODULES = {
    "word": "embeddings.word",
    "position": "embeddings.position",
    "segment": "embeddings.token_type",
    "embedding_norm": "embeddings.norm",
    "projection": "embeddings.projection",
    "layer.self_attn.out_proj": "encoder.attention.output",
    "layer.norm1": "encoder.attention.norm",
    "layer.linear1": "encoder.ffn.up",
    "layer.linear2": "encoder.ffn.down",
    "layer.norm2": "encoder.ffn.norm",
    "pooler": "pooler",
    "mlm_dense": "mlm.dense",
    "mlm_norm": "mlm.norm",
    "sop": "sop",
}
TABLES = ("word", "position", "segment")

# %% [markdown]
# The leaves, and three names that are no module and leaf:
#
# | what it is | theirs | ours |
# |---|---|---|
# | table of embeddings | `word.weight` (V, E) | `embeddings.word` (V, E) |
# | norm | `mlm_norm.weight`, `.bias` | `mlm.norm.gain`, `.bias` |
# | linear layer | `mlm_dense.weight` (E, H), `.bias` | `mlm.dense.w` (H, E), `.b` |
# | bias over the words | `mlm_bias` | `mlm.bias` |
# | query, key and value | `layer.self_attn.in_proj_weight` (3H, H), `layer.self_attn.in_proj_bias` (3H,) | see below |
#
# torch's `Linear` computes $y = x W^\top + b$ with $W$ (out, in); ours is $y = x\,w + b$ with $w$ (in, out). Its
# attention joins three such $W$, in this order: the first H rows of `in_proj_weight` are the query's, then come the
# key's, then the value's. Ours are `encoder.attention.query.w`, `.b`, and so for `key` and `value`. Leave out every
# other name: a file may hold counters, averages, and a decoder that is the word table once more.

# %%
def translate(state):
    """state: dict, their names -> arrays   Returns params: dict, our names -> arrays."""
    ### HINT Take the name apart first. What kind of module it is says what the leaf becomes; in_proj becomes three.
    ### HINT weight -> "" (table), "gain" (norm), "w" and transposed (linear); in_proj: cut in three, each transposed.
    ### HINT removeprefix, rpartition at the last dot, np.split(array, 3) along the first axis; skip unknown names.
    ### BEGIN SOLUTION
    params = {}
    for name, array in state.items():
        module, _, leaf = name.removeprefix("module.").rpartition(".")
        if module == "layer.self_attn" and leaf in ("in_proj_weight", "in_proj_bias"):
            for ours, part in zip(("query", "key", "value"), np.split(array, 3), strict=True):
                params[f"encoder.attention.{ours}.{'w' if leaf == 'in_proj_weight' else 'b'}"] = part.T
        elif (module, leaf) == ("", "mlm_bias"):
            params["mlm.bias"] = array
        elif module in TABLES and leaf == "weight":
            params[MODULES[module]] = array
        elif module in TABLES or module not in MODULES or leaf not in ("weight", "bias"):
            continue
        elif MODULES[module].endswith("norm"):
            params[f"{MODULES[module]}.{'gain' if leaf == 'weight' else 'bias'}"] = array
        else:
            params[f"{MODULES[module]}.{'w' if leaf == 'weight' else 'b'}"] = array.T
    return params
    ### END SOLUTION


# %% [markdown]
# ## The configuration
#
# `config.json` has the sizes under the names that `AlbertConfig` has for them, and other keys beside. Return those for
# which `AlbertConfig` has a field, with their values as they are; what the file does not say, leave out.
#
# A layer of some models may consist of several inner ones with weights of their own, `inner_group_num` of them. Ours
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
# ## A directory of shards
#
# `model.safetensors.index.json` says where each array is: under the key `weight_map` it has a dict, their names -> file
# names. Several arrays share a file, and a file may hold more than the index says, such as an older array that was
# written again into another file: the index decides. `load_file(path)` gives the dict of one file.
#
# The check has a small directory, and compares what a model of your config and params computes with the hidden states
# and logits of PyTorch's layers.

# %%
def load(directory):
    """directory: path, a string   Returns config, params: the dicts of the two functions above."""
    ### HINT The two functions above do the work; this one finds the arrays. Which file has the last word on a name?
    ### HINT state[name] = the array of that name in the file weight_map[name]; then translate.
    ### HINT Load each file once, into a dict by file name; a comprehension over weight_map's items picks the arrays.
    ### BEGIN SOLUTION
    directory = Path(directory)
    config = read_config((directory / "config.json").read_text(encoding="utf-8"))
    index = json.loads((directory / "model.safetensors.index.json").read_text(encoding="utf-8"))
    places = index["weight_map"]
    files = {file: load_file(directory / file) for file in set(places.values())}
    return config, translate({name: files[file][name] for name, file in places.items()})
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
# The logits of one masked place, one for each word: which words does the model believe in? Logits lie between -20000
# and 20000, and may be far apart; none may overflow. `k` may be 0.

# %%
def fill_mask(logits, words, k):
    """logits (V,)   words: list of V strings   k: from 0 to V

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
# ## Question
#
# Suppose the three parts of in_proj are read as key, query, value. Nothing is raised, and all shapes are right. At
# which index does `first_difference` find it, given PyTorch's states? What does that make of the scores q kᵀ? And
# suppose instead that PyTorch's model has GELU's other form. How would the differences look then, and how do you tell
# one mistake from the other?
