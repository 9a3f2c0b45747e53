"""The files of a Hugging Face directory: JSON, and weights in one or several safetensors files.

A safetensors file is the header's length in eight bytes, the header in JSON (name -> dtype, shape, place), and the
numbers. The library `safetensors` reads all of it but bfloat16, which NumPy does not have.
"""

import json
import os
import warnings

import numpy as np
import safetensors
import safetensors.numpy

from ..errors import PretrainedError

ONE_FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
FLOATS = ("F16", "BF16", "F32", "F64")


def read_json(path):
    try:
        data = json.loads(path.read_bytes())
    except ValueError as error:
        raise PretrainedError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise PretrainedError(f"{path} holds a {type(data).__name__}; it must hold a JSON object")
    return data


def write_json(path, data):
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(data, indent=2) + "\n")
    os.replace(temporary, path)


def locate(directory):
    """tensor name -> the file that has it."""
    whole, index = directory / ONE_FILE, directory / INDEX
    if whole.exists():
        return dict.fromkeys(_names(whole), whole)
    if index.exists():
        return _locate_shards(directory, index)
    if pickles := sorted(path.name for path in directory.glob("pytorch_model*.bin")):
        raise PretrainedError(
            f"{directory} holds {pickles[0]}, a pickle, but no {ONE_FILE}: load it in transformers with the class "
            f"that config.json names, and write it again with save_pretrained(..., safe_serialization=True)"
        )
    raise PretrainedError(f"{directory} holds neither {ONE_FILE} nor {INDEX}")


def _locate_shards(directory, index):
    shards = read_json(index).get("weight_map")
    if not isinstance(shards, dict):
        raise PretrainedError(f"{index} has no weight_map, which says where each tensor is")
    held = {}
    for shard in sorted(set(shards.values())):
        if not (directory / shard).exists():
            raise PretrainedError(f"{index} names {shard}, which is not there")
        held[shard] = set(_names(directory / shard))
    for name, shard in shards.items():
        if name not in held[shard]:
            raise PretrainedError(f"{directory / shard} lacks {name}, which {INDEX} says is there")
    return {name: directory / shard for name, shard in shards.items()}


def read(places):
    """Read tensors. places: name -> file, from `locate`. Returns name -> array; bfloat16 becomes float32, exactly."""
    arrays, widened = {}, []
    for path in dict.fromkeys(places.values()):
        with _open(path) as file:
            dtypes = {name: file.get_slice(name).get_dtype() for name in places if places[name] == path}
            for name, dtype in dtypes.items():
                if dtype not in FLOATS:
                    raise PretrainedError(f"{path}: {name} is stored as {dtype}; it must be one of {', '.join(FLOATS)}")
                if dtype != "BF16":
                    arrays[name] = file.get_tensor(name)
        if bfloat16 := [name for name, dtype in dtypes.items() if dtype == "BF16"]:
            widened.append(path)
            raw = dict(safetensors.deserialize(path.read_bytes()))
            arrays |= {name: _widen(raw[name]) for name in bfloat16}
    if widened:
        warnings.warn(f"{widened[0]} is in bfloat16, which NumPy lacks; it is read as float32", stacklevel=3)
    return arrays


def write(path, arrays):
    """Write a file under another name first, so that a crash leaves no incomplete file under this one."""
    temporary = path.with_name(path.name + ".part")
    safetensors.numpy.save_file(arrays, temporary, metadata={"format": "pt"})
    os.replace(temporary, path)


def _widen(tensor):
    """Convert to float32, whose upper half is bfloat16."""
    upper = np.frombuffer(tensor["data"], np.uint16).astype(np.uint32)
    return (upper << 16).view(np.float32).reshape(tensor["shape"])


def _names(path):
    with _open(path) as file:
        return list(file.keys())


def _open(path):
    try:
        return safetensors.safe_open(path, framework="np")
    except safetensors.SafetensorError as error:
        raise PretrainedError(f"{path} is not a whole safetensors file: {error}") from error
