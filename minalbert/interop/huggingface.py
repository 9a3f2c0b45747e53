"""Hugging Face directories: config.json and model.safetensors, as `transformers` reads and writes them.

Settings for which transformers has no key are in config.json under "minalbert". transformers ignores this entry;
with it, our configuration is read back exactly.
"""

import dataclasses
import json
import warnings
from pathlib import Path

import numpy as np

from .. import arguments
from ..config import PRESETS, AlbertConfig
from ..errors import ConfigError, FileError, PretrainedError
from ..files import read_json, write_atomically
from ..params import Params, heads_of, shapes
from .hashes import ADVICE, CONFIG, NAME, remove_hashes, verify_hashes, write_hashes
from .safetensors_files import ONE_FILE, locate, read, write
from .state_dict import DECODER, WHOLE, compare, first, from_state_dict, hf_groups, names, to_state_dict
from .unread import NOTHING, OTHER_FILES, unread_of

WRITTEN = (CONFIG, ONE_FILE, NAME)
DEFAULTS = dataclasses.asdict(PRESETS["albert-xxlarge-v2"])  # theirs, for missing keys
OURS = ("sharing", "num_hidden_groups", "embedding_projection")      # transformers may need one group per layer
VARIANTS = ("reversible", "attention", "attention_window", "attention_stride", "attention_global")
OFFICIAL = [key for key in DEFAULTS if key not in OURS + VARIANTS or key == "num_hidden_groups"]
SPECIAL_IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
PER_SEQUENCE = "AlbertForSequenceClassification", "AlbertForMultipleChoice"
PER_TOKEN = ("AlbertForTokenClassification",)
ARCHITECTURES = (("span", "AlbertForQuestionAnswering"), ("sop", "AlbertForPreTraining"), ("mlm", "AlbertForMaskedLM"))
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

    dtype: float16, float32 or float64; the file's dtype if none is given, but float32 for one of 16 bits. A tensor that
    the model does not have is an error, or with strict=False a warning.
    """
    return load_all(directory, dtype, strict)[:2]


def load_all(directory, dtype=None, strict=True):
    """`load`, and what was `Unread`."""
    directory = Path(directory)
    verify_hashes(directory)
    config = read_config(directory)
    places = locate(directory)
    found = compare(places, config)
    if found.missing:
        holds = f"; its first other tensor is {found.unused[0]}" if found.unused else ""
        raise PretrainedError(f"{directory} lacks {first(found.missing)}: {WHOLE}{holds}")
    if found.unused:
        message = f"{directory} holds tensors that this model does not have: {first(found.unused)}"
        _complain(message, f"{message}; save_pretrained writes them back\n{found}", strict)
    wanted = {*found.used, *DECODER}
    state = read({name: path for name, path in places.items() if name in wanted or name in found.unused}, wanted)
    tensors = {name: state.pop(name) for name in found.unused}
    _check_decoder(state, directory, strict)
    arrays = from_state_dict(state, config, strict=False)
    if config.embedding_size == config.hidden_size and not _is_identity(arrays):
        config = config.replace(embedding_projection=True)
    dtype = _dtype_of(arrays, directory) if dtype is None else dtype
    with np.errstate(over="ignore"):                 # what does not fit is named below
        params = Params.from_arrays(arrays, shapes(config, *heads_of(arrays)), dtype)
    _check_finite(params, arrays, config, directory)
    return config, params, unread_of(directory, read_json(directory / CONFIG, ADVICE), tensors)


def save(directory, config, params, unread=NOTHING, hashes=True):
    """Write config.json and model.safetensors, which `load` and transformers' from_pretrained read.

    unread: what `load_all` returned, to be written back. hashes: of what `load` reads, in hashes.json.
    """
    directory = arguments.path_of("directory", directory, PretrainedError)
    if directory.exists() and not directory.is_dir():
        raise PretrainedError(f"{directory} is a file; it must be a directory, or not be there yet")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{directory} cannot be made a directory ({error.strerror})") from error
    arrays = dict(params)
    if not config.has_projection:  # transformers always has one: the identity changes nothing
        H, dtype = config.hidden_size, params.dtype
        arrays |= {"embeddings.projection.w": np.eye(H, dtype=dtype), "embeddings.projection.b": np.zeros(H, dtype)}
    remove_hashes(directory)                         # of the files that were there before
    write(directory / ONE_FILE, to_state_dict(arrays, config) | unread.tensors)
    text = json.dumps(_config_json(config, params, unread), indent=2) + "\n"
    for name, content in {CONFIG: text.encode(), **unread.files}.items():
        write_atomically(directory / name, content)
    if hashes:
        write_hashes(directory, [CONFIG, ONE_FILE, *(name for name in unread.files if name not in OTHER_FILES)])


def read_config(directory):
    """Read config.json as an AlbertConfig. Unknown keys are ignored, as in transformers."""
    directory = arguments.path_of("directory", directory, PretrainedError)
    path = directory / CONFIG
    if not directory.is_dir():
        raise PretrainedError(f"{directory} is not a directory; nothing is downloaded, it must be one on this machine")
    if not path.exists():
        runs = sorted(directory.glob("step-*/config.json"))
        hint = f"it is a run, whose newest checkpoint is {runs[-1].parent}" if runs else ADVICE
        raise PretrainedError(f"{directory} has no config.json; {hint}")
    data = read_json(path, ADVICE)
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


def _config_json(config, params, unread):
    types = {field.name: field.type for field in dataclasses.fields(config)}
    kept, (heads, outputs) = unread.settings, heads_of(params)
    return {
        **kept,
        "architectures": (unread.tensors and kept.get("architectures")) or [_architecture(heads, kept)],
        **_labels(heads, outputs, kept),
        **FIXED,
        **{key: types[key](getattr(config, key)) for key in OFFICIAL},  # transformers wants 0.0, not 0
        "num_hidden_groups": hf_groups(config),
        **{key: kept.get(key, default) for key, default in SPECIAL_IDS.items()},
        "dtype": str(params.dtype),
        "minalbert": {key: value for key, value in vars(config).items()
                      if key in OURS or (key in VARIANTS and value != DEFAULTS[key])}
        | ({"tokenizer": unread.digest} if unread.digest else {}),
    }


def _architecture(heads, kept):
    """transformers' name of the model with these heads; a file's own, where a head is that of several."""
    if "classifier" in heads:
        possible = PER_SEQUENCE if "pooler" in heads else PER_TOKEN
        return next((name for name in kept.get("architectures") or () if name in possible), possible[0])
    return next((name for head, name in ARCHITECTURES if head in heads), "AlbertModel")


def _labels(heads, outputs, kept):
    """The labels' names, from which transformers counts them."""
    if "classifier" not in heads:
        return {}
    names = kept.get("id2label") or {}
    if len(names) != outputs:
        names = {str(number): f"LABEL_{number}" for number in range(outputs)}
    return {"id2label": names, "label2id": {name: int(number) for number, name in names.items()}}


def _dtype_of(arrays, directory):
    """The widest dtype in the file, but float32 for 16 bits, which save room and are too few to compute with."""
    found = np.result_type(*(array.dtype for array in arrays.values()))
    if found != np.float16:
        return found
    warnings.warn(f"{directory} is in float16; it is read as float32, unless dtype says float16", stacklevel=4)
    return np.float32


def _check_finite(params, arrays, config, directory):
    if np.isfinite(params.flat).all():
        return
    theirs = {ours: name for name, ours in names(config).items()}
    bad = [name for name in params if not np.isfinite(params[name]).all()]
    if all(np.isfinite(arrays[name]).all() for name in bad):
        raise PretrainedError(f"{directory}: {first([theirs[name] for name in bad])} has numbers that {params.dtype} "
                              "cannot hold; read it in float32")  # fmt: skip
    raise PretrainedError(f"{directory} has NaN or infinity in {first([theirs[name] for name in bad])}: no model can "
                          "compute with it; take weights from before that happened")  # fmt: skip


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
    warnings.warn(warning, stacklevel=4)


def _is_identity(arrays):
    w, b = arrays["embeddings.projection.w"], arrays["embeddings.projection.b"]
    return np.array_equal(w, np.eye(len(w))) and not b.any()
