"""The names and shapes that PyTorch's own layers give to the arrays of an ALBERT, for exercise 13's variant."""

import json
from importlib import resources

import numpy as np
import safetensors.numpy

from ... import outside

FOLDER = "shards"                                    # inside the folder of exercise 13
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
OLDER = ("sop.weight", "word.weight")                # whose negatives stand in the other shard
FILES = [*(f"model-0000{i}-of-00004.safetensors" for i in range(1, 5)), "part_a.safetensors"]
PREFIX = "module."                                   # of a wrapped model
JOINED = ("query", "key", "value")
LEAVES = {"weight": ("", ".gain", ".w"), "bias": (".bias", ".b")}


def as_torch(arrays):
    """arrays under our names -> under PyTorch's"""
    state = {}
    for module, ours in MODULES.items():
        for leaf, endings in LEAVES.items():
            for name in (f"{ours}{ending}" for ending in endings):
                if name in arrays:
                    state[f"{module}.{leaf}"] = arrays[name].T if name.endswith(".w") else arrays[name]
    for leaf, ending in (("weight", ".w"), ("bias", ".b")):
        parts = [arrays[f"encoder.attention.{name}{ending}"].T for name in JOINED]
        state[f"layer.self_attn.in_proj_{leaf}"] = np.concatenate(parts)
    return state | ({"mlm_bias": arrays["mlm.bias"]} if "mlm.bias" in arrays else {})


def from_torch(state):
    """The other way round: arrays under PyTorch's names -> under ours"""
    arrays, state = {}, {name.removeprefix(PREFIX): array for name, array in state.items()}
    for module, ours in MODULES.items():
        kind = "table" if module in ("word", "position", "segment") else "norm" if ours.endswith("norm") else "linear"
        for leaf in LEAVES:
            if f"{module}.{leaf}" in state:
                ending = {"table": "", "norm": {"weight": ".gain", "bias": ".bias"}.get(leaf),
                          "linear": {"weight": ".w", "bias": ".b"}.get(leaf)}[kind]  # fmt: skip
                array = state[f"{module}.{leaf}"]
                arrays[f"{ours}{ending}"] = array.T if ending == ".w" else array
    for leaf, ending in (("weight", ".w"), ("bias", ".b")):
        for name, part in zip(JOINED, np.split(state[f"layer.self_attn.in_proj_{leaf}"], 3), strict=True):
            arrays[f"encoder.attention.{name}{ending}"] = part.T
    return arrays | ({"mlm.bias": state["mlm_bias"]} if "mlm_bias" in state else {})


def with_prefix(state):
    """The names of a wrapped model."""
    return {f"{PREFIX}{name}": value for name, value in state.items()}


def divided(draw, state):
    """(files, places) of a directory in shards

    Each array of the state is in one file, and older ones in the others; some, which the index does not name, in all.
    """
    state = {name: np.ascontiguousarray(array) for name, array in state.items()}
    files = {file: {name: -array for name, array in state.items()} for file in FILES}
    named = [name for name in state if name.partition(".")[0] not in ("sop", "pooler")]
    places = {name: FILES[i % len(FILES)] for name, i in zip(named, draw.rng.permutation(len(named)), strict=True)}
    for name, file in places.items():
        files[file][name] = state[name]
    return files, places


def indexed(files, places):
    """The state that the index means."""
    return {name: files[file][name] for name, file in places.items()}


def readings(files, places):
    """{mistake: the states that it may read}"""
    unions = [{name: array for file in order for name, array in files[file].items()}
              for order in (sorted(files), sorted(files)[::-1])]  # fmt: skip
    right = indexed(files, places)
    older = "each array must come from the file that the index names for it; another has an older one"
    return {
        "names that begin with module. are left out; `translate` takes the prefix off":
            [{name: array for name, array in right.items() if not name.startswith(PREFIX)}],
        "what the index does not name is to be left out, if a file has it or not": [every | right for every in unions],
        older: [{name: every[name] for name in right} for every in unions],
        f"{older}; and what the index does not name is to be left out": unions,
        "files are left out": [{name: right[name] for name in right if places[name] in some}
                               for some in (sorted(files)[:1], sorted(files)[1:], sorted(files)[:-1])],
    }  # fmt: skip


def stored():
    """(text of config.json, files, places) of the directory in shards"""
    folder = resources.files(outside) / "ex13" / FOLDER
    places = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))["weight_map"]
    files = {file: safetensors.numpy.load((folder / file).read_bytes()) for file in set(places.values())}
    text = (folder / "config.json").read_text(encoding="utf-8")
    return text, files, places
