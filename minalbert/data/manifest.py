"""What a corpus's `manifest.json` says: the counts of each shard, and the SHA-256 of each file.

The counts determine the size and the type of each file; so a file that is cut off, changed or another's is found.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DamagedError, DataError, MissingFileError
from ..files import Record, checksum, read_json
from .packing import offset_dtype, token_dtype
from .tokenizers import FILE_NAMES

FORMAT = 1
MANIFEST = "manifest.json"
AGAIN = "build it again with `minalbert data build`"
COUNTS = ("documents", "sentences", "tokens")


class ShardFile(NamedTuple):
    """One of the four files of a shard, as it was written."""

    path: Path
    dtype: np.dtype
    length: int                                      # of the array in it
    record: Record


def shard_files(directory, shard, vocab_size):
    """{ending: ShardFile} of a shard's entry in a manifest."""
    documents, sentences, tokens = (shard[name] for name in COUNTS)
    arrays = {
        "tok": (token_dtype(vocab_size), tokens),
        "sent": (offset_dtype(tokens), sentences + 1),
        "doc": (offset_dtype(sentences), documents + 1),
        "topic": (np.dtype("<i4"), documents),
    }
    return {
        ending: ShardFile(Path(directory) / f"{shard['name']}.{ending}", dtype, length,
                          Record(length * dtype.itemsize, shard["sha256"][ending]))
        for ending, (dtype, length) in arrays.items()
    }  # fmt: skip


def read_manifest(directory):
    path = Path(directory) / MANIFEST
    try:
        manifest = read_json(path, AGAIN)
    except MissingFileError:
        what = "its build did not finish" if any(Path(directory).glob("shard-*")) else "it is no corpus"
        raise DataError(
            f"{directory} has no {MANIFEST}, so {what}; `minalbert data build` makes and finishes one"
        ) from None
    if "format" not in manifest or "sha256" not in manifest:
        raise DamagedError(f"{path} is not a manifest that `minalbert data build` wrote; {AGAIN}")
    if manifest["format"] != FORMAT:
        raise DataError(f"{path} has format {manifest['format']}; this minalbert reads format {FORMAT}: {AGAIN}")
    if manifest["sha256"] != checksum(manifest):
        raise DamagedError(f"{path} is damaged: its checksum is not that of its content; {AGAIN}")
    try:
        sound = is_sound(manifest)
    except (KeyError, TypeError):
        sound = False
    if not sound:
        raise DamagedError(f"{path} does not describe a corpus; {AGAIN}")
    return manifest


def is_sound(manifest):
    """Does it have all that is read later, of the right types?"""
    return (
        isinstance(manifest["vocab_size"], int) and manifest["vocab_size"] > 0
        and isinstance(manifest["tokenizer_digest"], str)
        and manifest["tokenizer"] in FILE_NAMES
        and isinstance(manifest["settings"], dict)
        and len(manifest["shards"]) > 0
        and all(is_sound_shard(shard) for shard in manifest["shards"])
        and len({shard["name"] for shard in manifest["shards"]}) == len(manifest["shards"])
    )  # fmt: skip


def is_sound_shard(shard):
    name, hashes = shard["name"], shard["sha256"]
    return (
        isinstance(name, str) and Path(name).name == name and name.isprintable()
        and all(isinstance(shard[count], int) and shard[count] > 0 for count in COUNTS)
        and all(isinstance(hashes[ending], str) for ending in ("tok", "sent", "doc", "topic"))
    )  # fmt: skip
