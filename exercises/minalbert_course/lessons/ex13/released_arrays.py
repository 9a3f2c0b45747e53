"""The arrays of a released file, for exercise 13, under their names and ours."""

import numpy as np

from minalbert import params as parameters
from minalbert.config import AlbertConfig
from minalbert.interop import state_dict
from minalbert.params import shapes

from ...compare import NOTHING, PERHAPS, Wrong, numbers, same, shown

ONES, TWOS, WIDE = (1,) * 6, (2,) * 6, (2, 3, 4, 5, 2, 2)    # every matrix is square by TWOS; a table is wide by WIDE


def file_of(draw, heads=parameters.HEADS, sizes=None):
    """(state under their names, arrays under ours), numbers of no model   heads: those that the file has

    sizes: V, E, H, F, M and S, if the draw does not choose them
    """
    V, E, H, F, M, S = sizes or draw.sizes(V=11, E=4, H=6, F=7, M=5, S=2, least=3)
    config = AlbertConfig(
        vocab_size=V, embedding_size=E, hidden_size=H, intermediate_size=F, max_position_embeddings=M,
        num_hidden_layers=2, num_attention_heads=1, type_vocab_size=S, embedding_projection=True,
    )  # fmt: skip
    arrays = {name: draw.normal(*shape).astype(np.float32) for name, shape in shapes(config, heads).items()}
    return state_dict.to_state_dict(arrays, config), arrays


def orders(draw, state):
    """The same state with its names in several orders."""
    names = sorted(state)
    for order in (draw.rng.permutation(names).tolist(), names[::-1], names):
        yield {name: state[name] for name in order}


def as_dict(name, value):
    if not isinstance(value, dict):
        raise Wrong(f"{name} is {shown(value)}; it must be a dict", NOTHING if value is None else None)
    return value


KINDS = {
    "tables of embeddings": lambda name: name.startswith("embeddings.") and name.count(".") == 1,
    "gains of norms": lambda name: name.endswith(".gain"),
    "norms": lambda name: ".norm." in name,
    "biases of norms": lambda name: name.endswith(".norm.bias"),
    "weights of linear layers": lambda name: name.endswith(".w"),
    "biases of linear layers": lambda name: name.endswith(".b"),
    "linear layers": lambda name: name.endswith((".w", ".b")),
    **{f"arrays of {part}": lambda name, part=part: name.startswith(f"{part}.")
       for part in ("embeddings", "encoder", "encoder.attention", "encoder.ffn", "pooler", "mlm", "sop")},
    "arrays of modules with the prefix albert.":
        lambda name: name.startswith(("embeddings.", "encoder.", "pooler.")),
    "perhaps: the prefix is taken off with lstrip, which takes letters; removeprefix takes a word":
        lambda name: name.startswith(("embeddings.", "encoder.")),
    "perhaps: the prefix module. is taken off with lstrip, which takes letters; removeprefix takes a word":
        lambda name: not name.startswith(("embeddings.word", "embeddings.position", "embeddings.token_type",
                                          "embeddings.projection", "pooler.", "sop.")),
    "biases": lambda name: name.endswith((".b", ".bias")),
    "arrays": lambda name: True,
}


def compare_names(params, right):
    missing, extra = sorted(right.keys() - params.keys()), sorted(map(str, params.keys() - right.keys()))
    causes = {
        "decoder": "the tied decoder is the word table once more: leave it out",
        "position_ids": "position_ids are no weights: leave them out",
        "albert.": "the prefix albert. is not taken off",
        "classifier.": "what belongs to no module of the table is to be left out",
    }
    cause = next((cause for part, cause in causes.items() if any(part in name for name in extra)), None)
    for says, belongs in KINDS.items():
        if missing == sorted(filter(belongs, right)) and not (extra and says == "arrays"):
            cause = says if says.startswith("perhaps") else named_otherwise(says, missing, params)
    for what, names in (("lacks", missing), ("has, which it must not,", extra)):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            beside = f" ({extra[0]!r} instead?)" if what == "lacks" and extra else ""
            raise Wrong(f"params {what} {', '.join(names[:3])}{more}{beside}", cause)


def compare_constant(translated, state):
    """Are the names those of this file where all its numbers are 0, or 1? translated: params of a state"""
    usual = translated(state)
    for number in (0, 1):
        params = translated({name: np.full_like(array, number) for name, array in state.items()})
        if lost := sorted(usual.keys() - params.keys()):
            raise Wrong(f"where all numbers of the file are {number}, params lacks {', '.join(lost[:3])}",
                        "seen: a name decides what is left out, not the numbers; a new bias has zeros alone")


def compare_small(params, right):
    """Are all names there, where almost every array has one number? The projection is asked with the matrices."""
    if lost := sorted(name for name in right.keys() - params.keys() if "projection" not in name):
        raise Wrong(f"where all sizes of the model are 1, params lacks {', '.join(lost[:3])}",
                    "seen: a name decides what is left out, not how many numbers an array has")  # fmt: skip


LEAVES = {
    "as linear layers have them, w and b": (".w", ".b"),
    "as norms have them, gain and bias": (".gain", ".bias"),
    "as tables have them, without a leaf": ("", ""),
    "as torch has them, weight and bias": (".weight", ".bias"),
}


def named_otherwise(kind, missing, params):
    """All of a kind are missing, and nothing else: which names have they instead? Or is their branch never taken?"""
    for says, leaves in LEAVES.items():
        instead = {stem_of(name) + leaves[name.endswith((".b", ".bias"))] for name in missing}
        if instead <= params.keys():
            return f"{kind} get names {says}"
    return f"none of the {kind} is there: their branch is never taken, or each overwrites another under its name"


def stem_of(name):
    """The module's name; that of a table is the whole."""
    return name.rpartition(".")[0] if name.endswith((".w", ".b", ".gain", ".bias")) else name


def compare_shape(name, array, right, others):
    """Here nothing is summed, which `same` would take for a cause; it may be another module's array."""
    array = numbers(name, array, right.shape)
    if array.shape != right.shape:
        cause = next((says for says, other in others.items() if np.array_equal(array, other)), None)
        if not cause and array.ndim > 1 and array.shape == right.shape[::-1]:
            cause = f"{PERHAPS}transposed"
        if not cause and array.shape == tuple(size for size in right.shape if size > 1):
            cause = "axes of size 1 are taken off"
        raise Wrong(f"{name} has shape {array.shape}; it must be {right.shape}", cause, numbers=(array, right))


def compare_arrays(params, right, wanted=lambda name: True, suspects=None):
    """Nothing is computed, so every number must be the file's. suspects(right, name): {cause: an array}"""
    for name in filter(wanted, right):
        if name not in params:
            raise Wrong(f"params lacks {name}", "seen: the check of the names says what is there")
        others = {f"it is what belongs to {other}": right[other] for other in right if other != name}
        others |= suspects(right, name) if suspects else {}
        array = params[name]
        if isinstance(array, str):
            raise Wrong(f"{name} is {shown(array)}; it must be an array",
                        "that is a name; the array is what stands under it in the file")  # fmt: skip
        compare_shape(name, array, right[name], others)
        others["the columns' order is turned round"] = right[name][..., ::-1]
        others["the rows' order is turned round"] = right[name][::-1]
        same(name, array, right[name], suspects=others)
        if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.dtype.itemsize < 4:
            raise Wrong(f"{name} is {array.dtype}; the file has float32", "an astype, or dtype=")
        try:
            same(name, array, right[name], limit=0.0)
        except Wrong as error:
            error.cause = "seen: nothing is computed here, so each number must be the file's own, to the last digit"
            raise
