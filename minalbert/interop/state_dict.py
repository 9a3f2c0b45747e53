"""Our names and Hugging Face's, one table for both ways.

Two things differ beside the names. Their matrices are (out, in). And of sharing they know
`num_hidden_groups` alone, so a part that spans several of their groups has a copy in each.
"""

import numpy as np

from ..backend import to_host
from ..errors import PretrainedError
from ..params import ATTENTION, FFN, NORM, half_name, shapes

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
}
LEAVES = {"w": "weight", "b": "bias", "gain": "weight", "bias": "bias"}

# One array with two names. transformers writes only the second and, where a file has both, uses the first.
DECODER = {
    "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
    "predictions.decoder.bias": "predictions.bias",
}


def to_state_dict(named_arrays, config):
    """Arrays under the names of AlbertForPreTraining, on the host: a model's `params`, or its gradients.

    Only what is given is in the result: no head that is absent, no projection where E = H has none, and no
    tied decoder. Where their groups hold copies of one shared part, each gets the same array: each copy's
    gradient is then the sum over all layers, to which theirs, one per copy, add up.
    """
    state = {}
    for theirs, ours in names(config).items():
        if ours in named_arrays:
            array = to_host(named_arrays[ours])
            state[theirs] = np.array(array.T if _is_matrix(ours) else array, order="C")
    return state


def from_state_dict(state, config):
    """The inverse: arrays under our names. Copies of a shared part must be equal."""
    right, arrays = shapes(with_projection(config)), {}
    for theirs, ours in names_as_in(state, config).items():
        if theirs not in state:
            continue
        array = to_host(state[theirs])
        shape = right[ours][::-1] if _is_matrix(ours) else right[ours]
        if array.shape != shape:
            raise PretrainedError(f"{theirs} has shape {array.shape}; by the configuration it must be {shape}")
        array = array.T if _is_matrix(ours) else array
        if not np.array_equal(array, arrays.setdefault(ours, array), equal_nan=True):
            raise PretrainedError(
                f"{theirs} differs from its copies in other groups, but the entry 'minalbert' of config.json says "
                f"that layers share it; without that entry, every group is loaded with weights of its own"
            )
    return arrays


def names(config):
    """Their name -> ours, for all that AlbertForPreTraining has."""
    table = {_theirs(name): name for name in shapes(with_projection(config)) if not name.startswith("encoder.")}
    groups = hf_groups(config)
    for group in range(groups):
        layer = -(-group * config.num_hidden_layers // groups)  # the first one in the group
        prefix = f"albert.encoder.albert_layer_groups.{group}.albert_layers.0"
        for part, tensors in (("attention", ATTENTION + NORM), ("ffn", FFN + NORM)):
            for tensor in tensors:
                table[f"{prefix}.{_theirs(f'{part}.{tensor}')}"] = f"{half_name(config, part, layer)}.{tensor}"
    return table


def names_as_in(state, config):
    """The table in a file's own style: a bare AlbertModel has no `albert.`, a decoder may stand for its twin."""
    table = names(config)
    for decoder, twin in DECODER.items():
        if decoder in state and twin not in state:
            table[decoder] = table.pop(twin)
    if any(name.startswith("albert.") for name in state):
        return table
    return {theirs.removeprefix("albert."): ours for theirs, ours in table.items()}


def hf_groups(config):
    """How many groups transformers needs for our sharing: as many as we have, or one per layer.

    Its rule for a layer's group is written in floats, and slips for some G that do not divide L: first
    for 18 layers in 14 groups.
    """
    L, G = config.num_hidden_layers, config.num_hidden_groups
    same_rule = all(int(layer / (L / G)) == layer * G // L for layer in range(L))
    return G if config.sharing == "all" and same_rule else L


def with_projection(config):
    """transformers always has one, also where E = H."""
    return config.replace(embedding_projection=True)


def _theirs(name):
    if name in MODULES:  # a table of embeddings
        return f"{MODULES[name]}.weight"
    module, leaf = name.rsplit(".", 1)
    return f"{MODULES[module]}.{LEAVES[leaf]}"


def _is_matrix(name):
    return name.endswith(".w")
