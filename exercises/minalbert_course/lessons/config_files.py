"""Texts of config.json, for exercise 13, and what must be read from them."""

import dataclasses
import json

from minalbert.config import AlbertConfig

from ..compare import Wrong, equal
from ..yours import Stopped

FIELDS = {field.name for field in dataclasses.fields(AlbertConfig)}


def config_text(draw, **changes):
    """(config.json, what of it AlbertConfig has)"""
    D, F, L, V = draw.sizes(D=4, F=20, L=3, V=32)
    known = {
        "vocab_size": V, "hidden_size": 3 * D, "num_attention_heads": 3, "num_hidden_layers": L, "intermediate_size": F,
        "hidden_act": "gelu_new", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0, "num_hidden_groups": 1,
        "embedding_size": 128,
    }  # fmt: skip
    unknown = {
        "architectures": ["AlbertForMaskedLM"], "model_type": "albert", "gap_size": 0, "net_structure_type": 0,
        "inner_group_num": 1, "classifier_dropout_prob": 0.1, "bos_token_id": 2, "down_scale_factor": 1,
    }  # fmt: skip
    if draw.first:
        known["embedding_projection"] = None
        unknown["down_scale_factor"] = None
    else:
        del unknown["inner_group_num"], known["embedding_size"]
        known |= {"initializer_range": 0.0, "sharing": "all", "reversible": False, "num_hidden_groups": 2}
    return json.dumps(unknown | known | changes, indent=2), known


def compare_config(config, right):
    for name in sorted(right.keys() - config.keys()):
        raise Wrong(f"config lacks {name}, which the file has", lacking(right[name]))
    for name in sorted(map(str, config.keys() - right.keys())):
        cause = None if name in FIELDS else "keys for which AlbertConfig has no field are to be left out"
        raise Wrong(f"config has {name}, which the file has not" if name in FIELDS else f"config has {name}", cause)
    for name, value in right.items():
        equal(name, config[name], value)


def lacking(value):
    """What a value that is left out has in common with others."""
    if value is None:
        return "perhaps: what is null is left out; its value is None"
    if not value:
        return f"perhaps: {value!r} is taken for nothing; it is a value like others"
    return f"seen: in the file its value is {value!r}"


def compare_refusal(yours, groups, text):
    try:
        yours.read_config(text)
    except Stopped as error:
        if ": ValueError: " not in str(error) and "(a ValueError): " not in str(error):
            raise Wrong(f"{error}; it must be a ValueError", "an error of another kind is raised") from error
        return
    cause = "such a model has more weights than ours: loaded all the same, it would compute something else"
    cause = cause if groups else "0 is not 1, either"
    raise Wrong(f"read_config accepts inner_group_num {groups}; it must raise ValueError", cause)
