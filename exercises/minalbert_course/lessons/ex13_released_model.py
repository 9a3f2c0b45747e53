"""Exercise 13: read what others released. Names, matrices, config.json, and where two models part."""

import dataclasses
import json
from importlib import resources

import numpy as np
import safetensors.numpy

from minalbert import params as parameters
from minalbert.albert import Albert
from minalbert.config import AlbertConfig
from minalbert.interop import huggingface, state_dict
from minalbert.layers import softmax
from minalbert.params import Params, shapes

from .. import outside
from ..compare import Wrong, equal, numbers, same, shown
from ..given import Given
from ..lesson import Lesson
from ..makers import ex13 as ex13  # what this exercise hands out
from ..yours import Stopped

lesson = Lesson(
    "ex13", "a released model", minutes=85,
    functions={
        "translate": "params",
        "read_config": "config",
        "load": "config, params",
        "first_difference": "index",
        "fill_mask": "guesses",
    },
    withheld=(huggingface.load, huggingface.load_report, huggingface.read_config, huggingface.read,
              state_dict.from_state_dict, state_dict.to_state_dict, state_dict.names, state_dict.names_as_in),
)  # fmt: skip
LESSONS = [lesson]

FIELDS = {field.name for field in dataclasses.fields(AlbertConfig)}
SQUARE = ("attention.query.w", "attention.key.w", "attention.value.w", "attention.output.w", "pooler.w")


def file_of(draw, heads=parameters.HEADS):
    """(state under their names, arrays under ours), numbers of no model"""
    V, E, H, F, M = draw.sizes(V=11, E=4, H=6, F=7, M=5, least=3)
    config = AlbertConfig(
        vocab_size=V, embedding_size=E, hidden_size=H, intermediate_size=F, max_position_embeddings=M,
        num_hidden_layers=2, num_attention_heads=1,
    )  # fmt: skip
    arrays = {name: draw.normal(*shape) for name, shape in shapes(config, heads).items()}
    state = state_dict.to_state_dict(arrays, config)
    order = draw.rng.permutation(len(state))
    return {list(state)[i]: state[list(state)[i]] for i in order}, arrays


def as_dict(name, value):
    if not isinstance(value, dict):
        raise Wrong(f"{name} is {shown(value)}; it must be a dict")
    return value


# Names and matrices

NAMES = 'their module and leaf -> ours: "weight" is w of a linear layer, gain of a norm, nothing of a table'
TRANSPOSED = "y = x w: w is (in, out); torch's Linear has (out, in)"


def compare_names(params, right):
    missing, extra = sorted(right.keys() - params.keys()), sorted(map(str, params.keys() - right.keys()))
    causes = {
        "decoder": "the tied decoder is the word table once more: leave it out",
        "position_ids": "position_ids are no weights: leave them out",
        "albert.": "the prefix albert. is not taken off",
    }
    cause = next((cause for part, cause in causes.items() if any(part in name for name in extra)), None)
    for what, names in (("lacks", missing), ("has, which it must not,", extra)):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            beside = f" ({extra[0]!r} instead?)" if what == "lacks" and extra else ""
            raise Wrong(f"params {what} {', '.join(names[:3])}{more}{beside}", cause)


def compare_arrays(params, right, wanted=lambda name: True):
    for name in filter(wanted, right):
        if name not in params:
            raise Wrong(f"params lacks {name}")
        others = {f"it is what belongs to {other}": right[other] for other in right if other != name}
        same(name, params[name], right[name], suspects=others)


def is_square(name):
    return name.endswith(SQUARE)


def is_matrix(name):
    return name.endswith(".w") and not is_square(name)


@lesson.check(1, "names", of="translate", formula=NAMES)
def names(yours, draw):
    state, right = file_of(draw)
    state["predictions.decoder.weight"] = state["albert.embeddings.word_embeddings.weight"]
    state["predictions.decoder.bias"] = state["predictions.bias"]
    state["albert.embeddings.position_ids"] = np.arange(5)[None]
    compare_names(as_dict("params", yours.translate(state)), right)


@lesson.check(1, "matrices", of="translate", formula=TRANSPOSED)
def matrices(yours, draw):
    state, right = file_of(draw)
    compare_arrays(as_dict("params", yours.translate(state)), right, is_matrix)


@lesson.check(1, "square matrices", of="translate", formula=TRANSPOSED)
def squares(yours, draw):
    state, right = file_of(draw)
    compare_arrays(as_dict("params", yours.translate(state)), right, is_square)


@lesson.check(0.5, "tables, norms, biases", of="translate", formula="as they are: a table's row is a word, as ours")
def vectors(yours, draw):
    state, right = file_of(draw)
    compare_arrays(as_dict("params", yours.translate(state)), right, lambda name: not name.endswith(".w"))


@lesson.check(0.5, "a bare trunk", of="translate", formula='the file of an AlbertModel has no prefix "albert."')
def trunk(yours, draw):
    state, right = file_of(draw, heads=("pooler",))
    params = as_dict("params", yours.translate({name.removeprefix("albert."): a for name, a in state.items()}))
    compare_names(params, right)


# The configuration


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
    if not draw.first:
        del unknown["inner_group_num"], known["embedding_size"]
    return json.dumps(unknown | known | changes, indent=2), known


def compare_config(config, right):
    for name in sorted(right.keys() - config.keys()):
        raise Wrong(f"config lacks {name}, which the file has")
    for name in sorted(map(str, config.keys() - right.keys())):
        cause = None if name in FIELDS else "keys for which AlbertConfig has no field are to be left out"
        raise Wrong(f"config has {name}, which the file has not" if name in FIELDS else f"config has {name}", cause)
    for name, value in right.items():
        equal(name, config[name], value)


@lesson.check(1, "config.json", of="read_config", formula="the keys for which AlbertConfig has a field, and no others")
def fields(yours, draw):
    text, right = config_text(draw)
    compare_config(as_dict("config", yours.read_config(text)), right)


@lesson.check(0.5, "what cannot be read", of="read_config", formula="ValueError where inner_group_num is not 1")
def refusal(yours, draw):
    as_dict("config", yours.read_config(config_text(draw)[0]))
    groups = 2 if draw.first else int(draw.integers(2, 9))
    try:
        yours.read_config(config_text(draw, inner_group_num=groups)[0])
    except Stopped as error:
        if not any(f": {kind}" in str(error) for kind in ("ValueError", "ConfigError")):
            raise Wrong(f"{error}; it must be a ValueError") from error
        return
    cause = "such a model has more weights than ours: loaded all the same, it would compute something else"
    raise Wrong(f"read_config accepts inner_group_num {groups}; it must raise ValueError", cause)


# A directory


def stored():
    """(config, params, text, state) of the directory"""
    folder = resources.files(outside) / "ex13"
    text = (folder / "config.json").read_text(encoding="utf-8")
    state = safetensors.numpy.load((folder / "model.safetensors").read_bytes())
    config = {key: value for key, value in json.loads(text).items() if key in FIELDS}
    return config, state_dict.from_state_dict(state, AlbertConfig(**config)), text, state


def alike(a, b):
    """Two answers, whatever they are."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    return type(a) is type(b) and isinstance(a, int | float | str | None) and a == b


def from_own_parts(yours, config, params):
    """Mistakes of translate and read_config have cost their points already."""
    _, _, text, state = stored()
    try:
        return alike(config, yours.read_config(text)) and alike(params, yours.translate(state))
    except (Wrong, Stopped):
        return False


@lesson.check(1, "a directory", of="load", formula="config of config.json, params of model.safetensors")
def directory(yours, draw):
    config, params = yours.load(Given.of("the released directory"))
    right_config, right_params, _, _ = stored()
    try:
        compare_config(as_dict("config", config), right_config)
        compare_names(as_dict("params", params), right_params)
        compare_arrays(params, right_params)
    except Wrong:
        if not from_own_parts(yours, config, params):
            raise


# Where two models part

DIFFERS = "the first i with max |ours[i] - theirs[i]| > limit, or None"


def states(draw):
    """As many states as a small model has, theirs, and ours, which differ by less than 1e-3."""
    B, T, H = draw.sizes(B=2, T=3, H=4, least=2)
    theirs = [draw.normal(B, T, H) for _ in range(5)]
    return [state + draw.uniform(-9e-4, 9e-4, *state.shape) for state in theirs], theirs


def plain(value):
    """A number or a word of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic | np.ndarray) and np.ndim(value) == 0 else value


@lesson.check(1, "the first difference", of="first_difference", formula=DIFFERS)
def first(yours, draw):
    for place, amount in ((None, 0.0), (2, 0.5), (0, -0.5), (4, -0.01)):
        ours, theirs = states(draw)
        for i in range(5 if place is None else place, 5):
            ours[i][-1, 0, 1] += amount * (1 + i)    # it grows from layer to layer
        equal(f"first_difference, where {place} is right,", plain(yours.first_difference(ours, theirs, 1e-3)), place)


@lesson.check(0.5, "a difference that is not a number", of="first_difference", formula=f"{DIFFERS}; a NaN differs")
def not_a_number(yours, draw):
    ours, theirs = states(draw)
    ours[3][0, 0, 0] = np.nan
    cause = "nan > limit is False, as is every comparison with nan; ask whether not (difference <= limit)"
    equal("first_difference, where ours[3] has a NaN,", plain(yours.first_difference(ours, theirs, 1e-3)), 3, cause)


# A missing word


@lesson.check(1, "a missing word", of="fill_mask", formula="softmax over all words; the k largest, best first")
def missing_word(yours, draw):
    V, k = (7, 3) if draw.first else (int(draw.integers(8, 20)), int(draw.integers(2, 6)))
    logits, words = draw.normal(V, scale=2), [f"word{i}" for i in range(V)]
    guesses = yours.fill_mask(logits, words, k)
    if not isinstance(guesses, list | tuple) or not all(isinstance(g, list | tuple) and len(g) == 2 for g in guesses):
        raise Wrong(f"guesses is {shown(guesses)}; it must be a list of pairs (word, probability)")
    equal("the number of guesses", len(guesses), k)
    order, p = np.argsort(-logits)[:k], softmax(logits)
    for rank, (guess, i) in enumerate(zip(guesses, order, strict=True)):
        equal(f"guess {rank}", plain(guess[0]), words[i], "the largest logit comes first")
    found = numbers("probabilities", [guess[1] for guess in guesses], (k,))
    suspects = {
        "the k probabilities sum to one; softmax is over all words": softmax(logits[order]),
        "these are the logits themselves": logits[order],
        "these are log-probabilities": np.log(p[order]),
    }
    same("probabilities", found, p[order], suspects=suspects)


@lesson.check(1, "as transformers", of="load", formula="hidden states and logits of transformers' AlbertForPreTraining")
def as_transformers(yours, draw):
    config, params = yours.load(Given.of("the released directory"))
    try:
        config = AlbertConfig(**as_dict("config", config))
    except (TypeError, ValueError) as error:
        raise Wrong(f"AlbertConfig cannot be made of config: {error}", of="read_config") from error
    wanted = shapes(config)
    compare_names(as_dict("params", params), wanted)
    arrays = {name: numbers(name, params[name], shape) for name, shape in wanted.items()}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise Wrong(f"{name} has shape {arrays[name].shape}; it must be {shape}", of="translate")
    theirs = outside.numbers("ex13")
    try:
        ours = computed(Albert(config, Params.from_arrays(arrays, wanted, "float64")), theirs)
    except ValueError as error:
        raise Wrong(f"a model of config and params cannot read the ids: {error}", of="read_config") from error
    for i, state in enumerate(ours["hidden_states"]):
        same(f"hidden state {i} (transformers' numbers)", state, theirs["hidden_states"][i], "bth")
    for name in ("mlm_logits", "sop_logits"):
        same(f"{name} (transformers' numbers)", ours[name], theirs[name])


def computed(model, given):
    inputs = [given[name] for name in ("input_ids", "attention_mask", "token_type_ids")]
    with np.errstate(all="ignore"):
        states, (_, pooled) = model.hidden_states(*inputs), model.encode(*inputs)
        return {
            "hidden_states": states,
            "mlm_logits": model.mlm_logits(states[-1]),
            "sop_logits": model.sop_logits(pooled),
        }
