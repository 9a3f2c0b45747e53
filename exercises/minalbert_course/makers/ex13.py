"""The directory of a released model."""

import json
import tempfile
from importlib import resources
from pathlib import Path

import safetensors.numpy

from .. import outside
from ..given import maker

BESIDE = ("adapter_model.safetensors", "model_before.safetensors", "training.safetensors")
folders, sharded = [], []


@maker("the released directory")
def released(inside=""):
    return str(resources.files(outside) / "ex13" / inside)


@maker("a directory in shards")
def in_shards(text, files, places):
    """Every time the same one. files: file name -> arrays by name   places: what the index says"""
    if not sharded:
        sharded.append(tempfile.TemporaryDirectory())
    index = json.dumps({"metadata": {"total_size": 0}, "weight_map": places})
    written = {"config.json": text.encode(), "model.safetensors.index.json": index.encode()}
    return filled(sharded[0].name, written | {name: safetensors.numpy.save(state) for name, state in files.items()})


def filled(folder, written):
    """The folder, with these files new."""
    for name, content in written.items():
        Path(folder, name).unlink(missing_ok=True)
        Path(folder, name).write_bytes(content)
    return str(folder)


@maker("a directory")
def directory(text, state):
    """Every time the same one, with these two files written again, and others beside them that are not asked for."""
    if not folders:
        folders.append(tempfile.TemporaryDirectory())
        for name in ("added_tokens.json", "config_before.json", "tokenizer_config.json"):
            Path(folders[0].name, name).write_text(json.dumps({"[EXTRA]": 30000, "vocab_size": 1}), encoding="utf-8")
        for name in BESIDE:
            nothing = {their: 0 * array for their, array in state.items()}
            Path(folders[0].name, name).write_bytes(safetensors.numpy.save(nothing))
    return filled(folders[0].name, {"config.json": text.encode(), "model.safetensors": safetensors.numpy.save(state)})
