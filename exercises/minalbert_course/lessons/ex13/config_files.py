"""Texts of config.json, for exercise 13, and what must be read from them."""

import dataclasses
import json

from minalbert.config import AlbertConfig

from ...compare import Wrong, equal
from ...values import Stopped

FIELDS = {field.name for field in dataclasses.fields(AlbertConfig)}


def config_text(draw, **changes):
    """(config.json, what of it AlbertConfig has)"""
    D, F, L, V = draw.sizes(D=4, F=20, L=3, V=32, least=2)
    known = {
        "vocab_size": V, "hidden_size": 3 * D, "num_attention_heads": 3, "num_hidden_layers": L, "intermediate_size": F,
        "hidden_act": "gelu_new", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0, "num_hidden_groups": 1,
        "embedding_size": 128, "attention_probs_dropout_prob": 0.1,
    }  # fmt: skip
    unknown = {
        "architectures": ["AlbertForMaskedLM"], "model_type": "albert", "gap_size": 0, "net_structure_type": 0,
        "inner_group_num": 1, "groups": 3, "classifier_dropout_prob": 0.1, "bos_token_id": 2, "down_scale_factor": 1,
        "trained_by": "Jörg",
    }  # fmt: skip
    if draw.first:
        known["embedding_projection"] = None
        unknown["down_scale_factor"] = None
    else:
        del unknown["inner_group_num"], known["embedding_size"]
        known |= {"initializer_range": 0.0, "sharing": "all", "reversible": False, "num_hidden_groups": 2}
    return json.dumps(unknown | known | changes, indent=2, ensure_ascii=False), known


def compare_config(config, right):
    for name in sorted(missing := right.keys() - config.keys()):
        raise Wrong(f"config lacks {name}, which the file has", lacking(missing, right))
    for name in sorted(map(str, config.keys() - right.keys())):
        cause = filled_in(name, config[name])
        if name not in FIELDS:
            cause = "keys for which AlbertConfig has no field are to be left out"
        if name not in FIELDS and hasattr(AlbertConfig, name):
            cause = f"{cause}; {name} is a method of it, which hasattr finds, too"
        raise Wrong(f"config has {name}, which the file has not" if name in FIELDS else f"config has {name}", cause)
    for name, value in right.items():
        cause = next((says for says, made in CASTS.items() if isinstance(config[name], made) and type(value) is not made
                      and is_made(config[name], made, value)), None)  # fmt: skip
        equal(name, config[name], value, cause)


CASTS = {
    "values are made texts; they must stay as they are": str,
    "values are made numbers with a point; they must stay as they are": float,
    "true and false are made numbers, or numbers are made whole; values must stay as they are": int,
}


def is_made(found, made, value):
    try:
        return found == made(value)
    except (TypeError, ValueError, OverflowError):
        return False


def filled_in(name, found):
    """Why a field is there that the file does not have, or None."""
    default = getattr(AlbertConfig(), name, None)
    if name in FIELDS and (found is None or found == default):
        what = "None" if found is None else "AlbertConfig's value for it"
        return f"what the file does not say gets {what}; leave it out"
    return None


def lacking(missing, right):
    """What the keys that are left out have in common."""
    kinds = {
        "what is null is left out; its value is None": lambda value: value is None,
        "0, false and null are taken for nothing; they are values like others": lambda value: not value,
        "texts are left out; they are values like others": lambda value: isinstance(value, str),
        "seen: none of the file's keys is there": lambda value: True,
    }
    for says, is_one in kinds.items():
        if missing == {key for key, value in right.items() if is_one(value)}:
            return says
    return f"seen: of {len(right)} such keys of the file {len(missing)} are missing"


def compare_refusal(yours, groups, text):
    try:
        yours.read_config(text)
    except Stopped as error:
        if ": ValueError: " not in str(error) and "(a ValueError): " not in str(error):
            raise Wrong(f"{error}; it must be a ValueError", "an error of another kind is raised") from error
        return
    cause = "such a model has more weights than ours: loaded all the same, it would compute something else"
    named, either = ("null", "null is not 1") if groups is None else (groups, "0 is not 1")
    cause = cause if groups else f"{either}, either"
    raise Wrong(f"read_config accepts inner_group_num {named}; it must raise ValueError", cause)
