"""State dicts of transformers' AlbertForPreTraining, and of its models for tasks: their names and arrays <-> ours.

    state = to_state_dict(model.params, model.config)            # {"albert.embeddings.word_embeddings.weight": ...}
    arrays = from_state_dict(torch_model.state_dict(), config)   # {"embeddings.word": ...}

Two things differ besides the names. Their matrices are (out, in). And their only kind of sharing is
`num_hidden_groups`, so weights that we share among several of their groups have a copy in each.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..arguments import of_kind
from ..backend import to_host
from ..config import AlbertConfig
from ..errors import PretrainedError
from ..params import ATTENTION, FFN, HEADS, NORM, TASK_HEADS, half_name, shapes

MODULES = {
    "embeddings.word": "albert.embeddings.word_embeddings",
    "embeddings.position": "albert.embeddings.position_embeddings",
    "embeddings.token_type": "albert.embeddings.token_type_embeddings",
    "embeddings.norm": "albert.embeddings.LayerNorm",
    "embeddings.projection": "albert.encoder.embedding_hidden_mapping_in",
    "attention.query": "attention.query",
    "attention.key": "attention.key",
    "attention.value": "attention.value",
    "attention.output": "attention.dense",
    "attention.norm": "attention.LayerNorm",
    "ffn.up": "ffn",
    "ffn.down": "ffn_output",
    "ffn.norm": "full_layer_layer_norm",
    "pooler": "albert.pooler",
    "mlm.dense": "predictions.dense",
    "mlm.norm": "predictions.LayerNorm",
    "mlm": "predictions",
    "sop": "sop_classifier.classifier",
    "classifier": "classifier",
    "span": "qa_outputs",
}
ALL_HEADS = HEADS + TASK_HEADS
LEAVES = {"w": "weight", "b": "bias", "gain": "weight", "bias": "bias"}

# One array with two names. transformers writes only the second; if a file has both, it uses the first.
DECODER = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}

BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")   # in old files, but no weights
PROJECTION = tuple(f"albert.encoder.embedding_hidden_mapping_in.{leaf}" for leaf in ("weight", "bias"))
PROJECTION += tuple(name.removeprefix("albert.") for name in PROJECTION)
WHOLE = "the trunk must be whole, each head whole or absent, and a sop head needs a pooler"


class LoadReport(NamedTuple):
    """Tensors of a file that a model uses, does not use, and misses. The tied decoder is not counted."""

    used: list
    unused: list
    missing: list

    def __str__(self):
        lists = {"unused": self.unused, "missing": self.missing}
        rows = [f"{len(names)} {kind}{': ' if names else ''}{', '.join(names)}" for kind, names in lists.items()]
        return "\n".join([f"{len(self.used)} tensors used", *rows])


def to_state_dict(named_arrays, config):
    """Convert a model's `params`, or its gradients, to a state dict of NumPy arrays.

    named_arrays   {our name: array}, on any device; heads may be absent
    config         the AlbertConfig of the model

    The tied decoder is not in the result, nor is a projection if the model has none. If several of transformers' groups
    have copies of weights that we share, each copy gets the same array. For gradients this is the sum over all layers,
    which equals the sum of transformers' gradients over all copies.
    """
    of_kind("named_arrays", named_arrays, Mapping)
    of_kind("config", config, AlbertConfig)
    state = {}
    for theirs, ours in names(config, ALL_HEADS).items():
        if ours in named_arrays:
            array = to_host(named_arrays[ours])
            state[theirs] = np.array(array.T if _is_matrix(ours) else array, order="C")
    return state


def from_state_dict(state, config, strict=True):
    """Convert a state dict to {our name: array}, the inverse of `to_state_dict`.

    state    {transformers' name: array}: the state_dict() of AlbertForPreTraining, AlbertForMaskedLM or AlbertModel,
             or gradients under the same names
    config   an AlbertConfig of the same sizes
    strict   False: ignore tensors that are missing or that the model does not have

    A tensor that is missing, unexpected or of a wrong shape raises a PretrainedError that names it, and so do copies of
    shared weights that differ. `Params.from_arrays(arrays, shapes(config, heads), dtype)` makes a vector of the result.
    """
    if strict:
        check_names(state, config)
    right, arrays = _shapes_of_theirs(config, ALL_HEADS, _outputs(state)), {}
    for theirs, ours in names_as_in(state, config).items():
        if theirs not in state:
            continue
        array = to_host(state[theirs])
        shape = right[ours][::-1] if _is_matrix(ours) else right[ours]
        if array.shape != shape:
            raise PretrainedError(f"{theirs} has shape {array.shape}; for this configuration it must be {shape}")
        array = array.T if _is_matrix(ours) else array
        if not np.array_equal(array, arrays.setdefault(ours, array), equal_nan=True):
            raise PretrainedError(
                f"{theirs} differs from its copies in other groups, but the entry 'minalbert' of config.json says "
                f"that layers share it; without that entry, every group is loaded with weights of its own"
            )
    return arrays


def check_names(state, config):
    """Raise PretrainedError for tensors that are missing or unexpected."""
    found = compare(state, config)
    missing = [name for name in found.missing if config.has_projection or name not in PROJECTION]
    if missing:
        raise PretrainedError(f"the state dict lacks {first(missing)}: {WHOLE}")
    if found.unused:
        raise PretrainedError(f"the state dict has tensors that this model does not have: {first(found.unused)}; "
                              "strict=False ignores them")  # fmt: skip


def compare(found, config):
    """The LoadReport of the names found."""
    table = names_as_in(found, config)
    used = [name for name in table if name in found]
    heads = {table[name].split(".")[0] for name in used} & set(ALL_HEADS)
    absent = set(ALL_HEADS) - heads - ({"pooler"} if "sop" in heads else set())
    missing = [name for name, ours in table.items() if name not in found and ours.split(".")[0] not in absent]
    known = {*table, *DECODER}
    unused = [name for name in found if name not in known and not name.endswith(BUFFERS)]
    return LoadReport(used, sorted(unused), missing)


def first(names):
    """The first few of many names."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def names(config, heads=HEADS):
    """transformers' name -> ours, for every tensor of AlbertForPreTraining, or of the model with these heads."""
    table = {_theirs(name): name for name in _shapes_of_theirs(config, heads) if not name.startswith("encoder.")}
    groups = hf_groups(config)
    for group in range(groups):
        layer = -(-group * config.num_hidden_layers // groups)  # the first layer of the group
        prefix = f"albert.encoder.albert_layer_groups.{group}.albert_layers.0"
        for half, tensors in (("attention", ATTENTION + NORM), ("ffn", FFN + NORM)):
            for tensor in tensors:
                table[f"{prefix}.{_theirs(f'{half}.{tensor}')}"] = f"{half_name(config, half, layer)}.{tensor}"
    return table


def names_as_in(state, config):
    """`names` in a file's own style: AlbertModel has no `albert.`, and a decoder may be there instead of its twin."""
    table = names(config, ALL_HEADS)
    for decoder, twin in DECODER.items():
        if decoder in state and twin not in state:
            table[decoder] = table.pop(twin)
    if any(name.startswith("albert.") for name in state):
        return table
    return {theirs.removeprefix("albert."): ours for theirs, ours in table.items()}


def hf_groups(config):
    """The number of groups that transformers needs for our sharing: as many as we have, or one for each layer.

    Its rule for a layer's group uses floats, and is wrong for some G that do not divide L, first for 18 layers in 14
    groups.
    """
    L, G = config.num_hidden_layers, config.num_hidden_groups
    same_rule = all(int(layer / (L / G)) == layer * G // L for layer in range(L))
    return G if config.sharing == "all" and same_rule else L


def _shapes_of_theirs(config, heads, outputs=2):
    """Our shapes of what transformers has: always a projection, even if E = H."""
    return shapes(config.replace(embedding_projection=True), heads, outputs)


def _outputs(state):
    """The number of scores that its classifier gives."""
    return len(state["classifier.weight"]) if "classifier.weight" in state else 2


def _theirs(name):
    if name.startswith("answer."):  # the head of SQuAD 2.0, which transformers does not have
        module, leaf = name.rsplit(".", 1)
        return f"{module}.{LEAVES[leaf]}"
    if name in MODULES:  # a table of embeddings
        return f"{MODULES[name]}.weight"
    module, leaf = name.rsplit(".", 1)
    return f"{MODULES[module]}.{LEAVES[leaf]}"


def _is_matrix(name):
    return name.endswith(".w")
