"""Hugging Face directories: config.json and model.safetensors, as `transformers` reads and writes them.

Settings for which transformers has no key are in config.json under "minalbert". transformers ignores this entry;
with it, our configuration is read back exactly.
"""

import dataclasses
import warnings
from pathlib import Path

import numpy as np

from .. import arguments
from ..config import PRESETS, AlbertConfig
from ..errors import ConfigError, PretrainedError
from ..files import exists
from ..params import HEADS, Params, shapes
from ..sealed import STATE, read_note, verify_noted
from .safetensors_files import ONE_FILE, locate, read, read_json, write, write_json
from .state_dict import DECODER, WHOLE, compare, first, from_state_dict, hf_groups, to_state_dict

DEFAULTS = dataclasses.asdict(PRESETS["albert-xxlarge-v2"])  # theirs, for missing keys
OURS = ("sharing", "num_hidden_groups", "embedding_projection")      # transformers may need one group per layer
VARIANTS = ("reversible", "attention", "attention_window", "attention_stride", "attention_global")
OFFICIAL = [key for key in DEFAULTS if key not in OURS + VARIANTS or key == "num_hidden_groups"]
ADVICE = "restore it from a copy, or name another directory"
FIXED = {
    "model_type": "albert",
    "inner_group_num": 1,
    "position_embedding_type": "absolute",
    "tie_word_embeddings": True,
}


def load_report(directory):
    """Which tensors of a directory `load` would use. Reads only their names."""
    config = read_config(directory)
    return compare(locate(Path(directory)), config)


def load(directory, dtype=None, strict=True):
    """Read a directory. Returns its AlbertConfig, and Params with the heads that the file has.

    dtype: float16, float32 or float64; the file's dtype if none is given. A tensor that the model does not have is an
    error, or with strict=False a warning.
    """
    _verify(Path(directory))
    config, places = read_config(directory), locate(Path(directory))
    found = compare(places, config)
    if found.missing:
        holds = f"; its first other tensor is {found.unused[0]}" if found.unused else ""
        raise PretrainedError(f"{directory} lacks {first(found.missing)}: {WHOLE}{holds}")
    if found.unused:
        message = f"{directory} holds tensors that this model does not have: {first(found.unused)}"
        _complain(message, f"{message}\n{found}", strict)
    wanted = {*found.used, *DECODER}
    state = read({name: path for name, path in places.items() if name in wanted})
    _check_decoder(state, directory, strict)
    arrays = from_state_dict(state, config, strict=False)
    if config.embedding_size == config.hidden_size and not _is_identity(arrays):
        config = config.replace(embedding_projection=True)
    heads = [head for head in HEADS if any(name.startswith(f"{head}.") for name in arrays)]
    if dtype is None:
        dtype = np.result_type(*(array.dtype for array in arrays.values()))
    return config, Params.from_arrays(arrays, shapes(config, heads), dtype)


def _verify(directory):
    """Compare a checkpoint's model with its state.json."""
    if exists(directory / STATE, ADVICE):
        verify_noted(directory, read_note(directory / STATE, ADVICE), ("config.json", ONE_FILE), ADVICE)


def save(directory, config, params):
    """Write config.json and model.safetensors, which `load` and transformers' from_pretrained read."""
    directory = arguments.path_of("directory", directory, PretrainedError)
    if directory.exists() and not directory.is_dir():
        raise PretrainedError(f"{directory} is a file; it must be a directory, or not be there yet")
    directory.mkdir(parents=True, exist_ok=True)
    arrays = dict(params)
    if not config.has_projection:  # transformers always has one: the identity changes nothing
        H, dtype = config.hidden_size, params.dtype
        arrays |= {"embeddings.projection.w": np.eye(H, dtype=dtype), "embeddings.projection.b": np.zeros(H, dtype)}
    write(directory / ONE_FILE, to_state_dict(arrays, config))
    write_json(directory / "config.json", _config_json(config, params))


def read_config(directory):
    """Read config.json as an AlbertConfig. Unknown keys are ignored, as in transformers."""
    directory = arguments.path_of("directory", directory, PretrainedError)
    path = directory / "config.json"
    if not directory.is_dir():
        raise PretrainedError(f"{directory} is not a directory; nothing is downloaded, it must be one on this machine")
    if not path.exists():
        runs = sorted(directory.glob("step-*/config.json"))
        hint = f"; it is a run, whose newest checkpoint is {runs[-1].parent}" if runs else ""
        raise PretrainedError(f"{directory} has no config.json{hint}")
    data = read_json(path)
    for key, value in FIXED.items():
        if data.get(key, value) != value:
            raise PretrainedError(f"{path}: {key} is {data[key]!r}; only {value!r} can be loaded")
    official = {key: data.get(key, DEFAULTS[key]) for key in OFFICIAL}
    ours = data.get("minalbert", {})
    if not isinstance(ours, dict):
        raise PretrainedError(f"{path}: minalbert is {ours!r}; it must be an object, or absent")
    ours = {key: value for key, value in ours.items() if key in OURS + VARIANTS}
    try:
        config = AlbertConfig(**official | ours)
    except ConfigError as error:
        raise PretrainedError(f"{path}: {error}") from error
    groups = official["num_hidden_groups"]
    if groups != hf_groups(config):
        raise PretrainedError(
            f"{path}: num_hidden_groups is {groups}; with {config.num_hidden_layers} layers and this sharing it must "
            f"be {hf_groups(config)}, because transformers would give some layer another group than l G // L"
        )
    return config


def _config_json(config, params):
    types = {field.name: field.type for field in dataclasses.fields(config)}
    heads = {name.split(".")[0] for name in params} & set(HEADS)
    model = "AlbertForPreTraining" if "sop" in heads else "AlbertForMaskedLM" if "mlm" in heads else "AlbertModel"
    return {
        "architectures": [model],
        **FIXED,
        **{key: types[key](getattr(config, key)) for key in OFFICIAL},  # transformers wants 0.0, not 0
        "num_hidden_groups": hf_groups(config),
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "dtype": str(params.dtype),
        "minalbert": {key: value for key, value in vars(config).items()
                      if key in OURS or (key in VARIANTS and value != DEFAULTS[key])},
    }


def _check_decoder(state, directory, strict):
    for decoder, twin in DECODER.items():
        if decoder not in state or twin not in state or np.array_equal(state[decoder], state[twin], equal_nan=True):
            continue
        message = f"{directory}: {decoder} differs from {twin}, to which it should be tied"
        if decoder.endswith(".weight"):
            raise PretrainedError(f"{message}; an untied decoder cannot be loaded")
        _complain(message, f"{message}; the first is used, as in transformers", strict)
        state[twin] = state[decoder]


def _complain(error, warning, strict):
    if strict:
        raise PretrainedError(f"{error}; strict=False loads the rest")
    warnings.warn(warning, stacklevel=3)


def _is_identity(arrays):
    w, b = arrays["embeddings.projection.w"], arrays["embeddings.projection.b"]
    return np.array_equal(w, np.eye(len(w))) and not b.any()
