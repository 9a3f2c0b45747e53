"""The directory of a released model, for exercise 13, and what a model of it computes."""

import json
from importlib import resources

import numpy as np
import safetensors.numpy

from minalbert.albert import Albert
from minalbert.config import AlbertConfig
from minalbert.interop import state_dict
from minalbert.params import Params, shapes

from ... import outside
from ...compare import Wrong, numbers, same
from ...given import Given
from ...values import NotWritten, Stopped
from .config_files import FIELDS, compare_config, config_text
from .released_arrays import as_dict, compare_arrays, compare_names, file_of

REPEATED = "these are the files that were there before: an earlier answer is handed out again (lru_cache, a dict)"
BESIDE = (
    "other files lie in this directory, too (added_tokens.json, model_before.safetensors): take config.json and "
    "model.safetensors by their names"
)


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


def compare_read(yours, answer, right, files):
    """answer, right: config and params   files: the text and the state of both files"""
    (config, params), (right_config, right_params) = answer, right
    try:
        compare_config(as_dict("config", config), right_config)
        compare_names(as_dict("params", params), right_params)
        compare_arrays(params, right_params)
    except Wrong:
        if not from_own_parts(yours, config, params, *files):
            raise


def compare_refused(yours, directory, text):
    """Is a directory refused whose config.json is this text, which their `read_config` refuses?"""
    if stops(yours.read_config, text) and not stops(yours.load, directory):
        raise Wrong("load accepts a directory whose config.json has inner_group_num 2; read_config refuses that text",
                    "load reads config.json in a way of its own; read_config is there for it")  # fmt: skip


def stops(function, given):
    try:
        function(given)
    except Stopped:
        return True
    return False


def compare_written(yours, draw):
    """A directory with more files than the two; then the same one, which another model was written into."""
    earlier = None
    for _ in range(2):
        state, params = file_of(draw)
        text, config = config_text(draw, inner_group_num=1)
        answer = yours.load(Given.of("a directory", text, state))
        try:
            compare_read(yours, answer, (config, params), (text, state))
        except Wrong as error:
            again = earlier is not None and alike(list(answer), earlier)
            error.cause, error.final = (REPEATED if again else BESIDE), True
            raise
        earlier = list(answer)


def from_own_parts(yours, config, params, text, state):
    """Mistakes of translate and read_config have cost their points already."""
    try:
        return alike(config, yours.read_config(text)) and is_translation(yours, params, state)
    except (Wrong, Stopped, NotWritten):
        return False


def is_translation(yours, params, state):
    """Is it what the student's own `translate` makes of a state? Not if that stops."""
    try:
        return alike(params, yours.translate(state))
    except (Wrong, Stopped, NotWritten):
        return False


def computed(model, given):
    inputs = [given[name] for name in ("input_ids", "attention_mask", "token_type_ids")]
    with np.errstate(all="ignore"):
        states, (_, pooled) = model.hidden_states(*inputs), model.encode(*inputs)
        return {
            "hidden_states": states,
            "mlm_logits": model.mlm_logits(states[-1]),
            "sop_logits": model.sop_logits(pooled),
        }


def compare_computed(config, params, theirs, whose):
    """What a model of config and params computes, with the numbers from outside."""
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
    try:
        ours = computed(Albert(config, Params.from_arrays(arrays, wanted, "float64")), theirs)
    except ValueError as error:
        raise Wrong(f"a model of config and params cannot read the ids: {error}", of="read_config") from error
    for i, state in enumerate(ours["hidden_states"]):
        same(f"hidden state {i} ({whose} numbers)", state, theirs["hidden_states"][i], "bth")
    for name in ("mlm_logits", "sop_logits"):
        same(f"{name} ({whose} numbers)", ours[name], theirs[name])
