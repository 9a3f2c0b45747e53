"""The files of a Hugging Face directory: JSON, and weights in one or several safetensors files.

A safetensors file is the header's length in eight bytes, the header in JSON (name -> dtype, shape, place), and the
numbers. The library `safetensors` reads all of it but bfloat16, which NumPy does not have.
"""

import json
import struct
import warnings

import numpy as np
import safetensors
import safetensors.numpy

from ..errors import DamagedError, PretrainedError
from ..files import AtomicFile, read_json, status
from ..files import read as read_bytes

ONE_FILE, INDEX = "model.safetensors", "model.safetensors.index.json"
FLOATS = ("F16", "BF16", "F32", "F64")
CODES = {"float16": "F16", "float32": "F32", "float64": "F64", "int64": "I64", "int32": "I32", "int16": "I16",
         "int8": "I8", "uint8": "U8", "bool": "BOOL"}  # fmt: skip
OURS = {"format": "pt", "minalbert": "written by minalbert"}         # metadata; transformers reads "format" alone
ADVICE = "restore it from a copy, or name another directory"


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
    raise PretrainedError(f"{directory} holds neither {ONE_FILE} nor {INDEX}; {ADVICE}")


def _locate_shards(directory, index):
    shards = read_json(index, ADVICE).get("weight_map")
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


def read(places, wanted=None):
    """Read tensors. places: name -> file, from `locate`. Returns name -> array; bfloat16 becomes float32, exactly.

    wanted: those that must be floating point; all if none are given
    """
    arrays = {}
    for path in dict.fromkeys(places.values()):
        with _open(path) as file:
            dtypes = {name: file.get_slice(name).get_dtype() for name in places if places[name] == path}
            for name, dtype in dtypes.items():
                if dtype not in FLOATS and (wanted is None or name in wanted):
                    raise PretrainedError(f"{path}: {name} is stored as {dtype}; it must be one of {', '.join(FLOATS)}")
                if dtype != "BF16":
                    arrays[name] = file.get_tensor(name)
        if bfloat16 := [name for name, dtype in dtypes.items() if dtype == "BF16"]:
            warnings.warn(f"{path} is in bfloat16, which NumPy lacks; it is read as float32", stacklevel=4)
            raw = dict(safetensors.deserialize(read_bytes(path, ADVICE)))
            arrays |= {name: _widen(raw[name]) for name in bfloat16}
    return arrays


def write(path, arrays):
    """Write a whole file or nothing."""
    header, end = {"__metadata__": OURS}, 0
    for name, array in arrays.items():
        start, end = end, end + array.nbytes
        header[name] = {"dtype": CODES[str(array.dtype)], "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)                  # so that the numbers begin at a multiple of 8 bytes
    with AtomicFile(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array))


def is_ours(path):
    """Did minalbert write this file? Another program that saves it again leaves no such note."""
    with _open(path) as file:
        return (file.metadata() or {}).get("minalbert") == OURS["minalbert"]


def _widen(tensor):
    """Convert to float32, whose upper half is bfloat16."""
    upper = np.frombuffer(tensor["data"], np.uint16).astype(np.uint32)
    return (upper << 16).view(np.float32).reshape(tensor["shape"])


def _names(path):
    with _open(path) as file:
        return list(file.keys())


def _open(path):
    status(path, ADVICE)                             # a pipe would be waited for
    try:
        return safetensors.safe_open(path, framework="np")
    except (safetensors.SafetensorError, OSError) as error:
        raise DamagedError(f"{path} is not a whole safetensors file ({error}); {ADVICE}") from error
