"""The chunk tables of a large corpus, in files beside its shards: made once, and then opened without looking at a text.

    chunks-3f9a0c125b7e4d88/tables.json     of each shard: how many rows, the documents left out, the SHA-256
    chunks-3f9a0c125b7e4d88/000000.rows     (n, 6) numbers, as chunks.py makes them

The directory's name is a hash of all that a table depends on: the corpus, which of its documents, the recipe and the
seed. Opening reads tables.json; a row is read when it is wanted, and few files are open at a time. If nothing can be
written there, tables stay in memory.
"""

import functools
import hashlib
import json
import time
from contextlib import suppress

import numpy as np

from .. import files
from ..errors import FileError, MinalbertError
from .chunks import ChunkRows
from .manifest import ShardFile
from .token_file import VerifiedFile
from .verified import Verified

FORMAT = 1
OPEN = 64                                            # files at a time
BETWEEN = 1                                          # seconds between two writings of tables.json, but for the last
AGAIN = "remove it, and it is made again"
WIDTH = len(ChunkRows._fields)


def chunk_files(corpus, recipe, seed):
    """The ChunkFiles of a corpus whose tokens stay in files; None for one in memory."""
    if getattr(corpus, "directory", None) is None or all(isinstance(one.tokens, np.ndarray) for one in corpus.shards):
        return None
    sizes = [(len(one.documents), len(one.sentences), len(one.tokens)) for one in corpus.shards]
    identity = [FORMAT, corpus.manifest["sha256"], corpus.chosen, sizes, seed, recipe.policy, recipe.pairs, recipe.room,
                recipe.short_fraction, recipe.segments]  # fmt: skip
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    return ChunkFiles(corpus.directory / f"chunks-{name}", len(corpus.shards))


class ChunkFiles:
    """The files of one table. What tables.json has is believed; the others are made, in the order of the shards."""

    def __init__(self, directory, shards):
        self.directory, self.shards, self.known = directory, shards, []
        with suppress(MinalbertError, KeyError, TypeError):              # not there, or half a one
            found = files.read_json(self.path, AGAIN)
            if found["sha256"] == files.checksum(found):
                self.known = found["tables"]
        self.opened = functools.lru_cache(OPEN)(self._open)
        self._verified, self._written = Verified(directory, shards), time.monotonic()

    @property
    def path(self):
        return self.directory / "tables.json"

    def table(self, make, shard):
        """A shard's table. make(shard) -> its ShardTable, if it is not there"""
        if shard >= len(self.known):
            made = make(shard)
            try:
                self._keep(shard, made)
            except FileError:                        # a directory that may only be read, or a full disk
                return made
        return StoredTable(self, shard, self.known[shard]["rows"], self.known[shard]["left_out"])

    def _keep(self, shard, made):
        if shard != len(self.known):                 # one before it could not be written
            raise FileError(f"{self.path} has no table before that of shard {shard}")
        with files.explained(self.directory, AGAIN):
            self.directory.mkdir(exist_ok=True)
        sha256 = files.write_atomically(self._path(shard), np.ascontiguousarray(made.numbers))
        self.known.append({"rows": len(made), "left_out": made.left_out, "type": made.numbers.dtype.str,
                           "sha256": sha256})  # fmt: skip
        if len(self.known) == self.shards or time.monotonic() - self._written > BETWEEN:
            table = {"tables": self.known}
            files.write_atomically(self.path, json.dumps(table | {"sha256": files.checksum(table)}).encode())
            self._written = time.monotonic()

    def _path(self, shard):
        return self.directory / f"{shard:06d}.rows"

    def _open(self, shard):
        entry = self.known[shard]
        dtype, length = np.dtype(entry["type"]), WIDTH * entry["rows"]
        record = files.Record(length * dtype.itemsize, entry["sha256"])
        return VerifiedFile(ShardFile(self._path(shard), dtype, length, record), self._verified)


class StoredTable:
    """The rows of one shard, in their file."""

    def __init__(self, files, shard, count, left_out):
        self.files, self.shard, self.count, self.left_out = files, shard, count, left_out

    def __len__(self):
        return self.count

    def rows(self, which):
        which = WIDTH * which
        return np.array(self.files.opened(self.shard).slices(which, which + WIDTH)).reshape(-1, WIDTH)

    @property
    def numbers(self):
        return np.asarray(self.files.opened(self.shard)).reshape(-1, WIDTH)
