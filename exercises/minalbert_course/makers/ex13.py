"""The directory of a released model."""

import json
import tempfile
from importlib import resources
from pathlib import Path

import safetensors.numpy

from .. import outside
from ..given import maker

BESIDE = ("adapter_model.safetensors", "training.safetensors")
folders = []


@maker("the released directory")
def released(inside=""):
    return str(resources.files(outside) / "ex13" / inside)


@maker("a directory")
def directory(text, state):
    """Every time the same one, with these two files written anew, and others beside them that are not asked for."""
    if not folders:
        folders.append(tempfile.TemporaryDirectory())
        for name in ("added_tokens.json", "tokenizer_config.json"):
            Path(folders[0].name, name).write_text(json.dumps({"[EXTRA]": 30000, "vocab_size": 1}), encoding="utf-8")
        for name in BESIDE:
            nothing = {their: 0 * array for their, array in state.items()}
            Path(folders[0].name, name).write_bytes(safetensors.numpy.save(nothing))
    folder = Path(folders[0].name)
    for name, content in (("config.json", text.encode()), ("model.safetensors", safetensors.numpy.save(state))):
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_bytes(content)
    return str(folder)
