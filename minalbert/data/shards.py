"""A corpus on disk: token arrays that are mapped into memory, not read.

A corpus is a directory with a `manifest.json` and, for each shard, four little-endian files:

    shard-000000.tok    (n,)    uint16, or uint32 for a vocabulary of more than 65,535 pieces
    shard-000000.sent   (S+1,)  the first token of each sentence in .tok; uint32, or uint64 past 4 billion
    shard-000000.doc    (D+1,)  the first sentence of each document in .sent, in the same way
    shard-000000.topic  (D,)    int32, -1 if the topic is not known

The manifest is written last: a directory without one is a build that did not finish. It holds the counts, which
determine the size of each file, and the SHA-256 of each file, so that a changed file is found and named.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arguments import flag, number, of_kind, path_of
from ..errors import DataError
from .documents import Document
from .packing import offset_dtype, pack, token_dtype
from .tokenizer import Tokenizer
from .tokenizers import load_tokenizer

FORMAT = 1
MANIFEST = "manifest.json"
FILES = ("tok", "sent", "doc", "topic")
AGAIN = "build it again with `minalbert data build`"


class Shard(NamedTuple):
    """The arrays of one shard, mapped into memory."""

    tokens: np.ndarray                               # (n,)    uint16 or uint32
    sentences: np.ndarray                            # (S+1,)  sentence s is tokens[sentences[s] : sentences[s + 1]]
    documents: np.ndarray                            # (D+1,)  document d has sentences documents[d] : documents[d + 1]
    topics: np.ndarray                               # (D,)    -1 if unknown

    def slice(self, first, last):
        """A shard of the documents first..last-1; tokens are not copied."""
        documents = self.documents[first : last + 1]
        sentences = self.sentences[documents[0] : documents[-1] + 1]
        tokens = self.tokens[sentences[0] : sentences[-1]]
        if first:                                    # the other arrays count from the slice's first document
            documents, sentences = documents - documents[0], sentences - sentences[0]
        return Shard(tokens, sentences, documents, self.topics[first:last])


@dataclass
class Corpus:
    """Shards, and which tokenizer made them."""

    shards: list[Shard]
    vocab_size: int
    tokenizer_digest: str
    directory: Path | None = None                    # None: in memory
    manifest: dict | None = None

    @classmethod
    def open(cls, directory, verify=False):
        """Open the corpus in a directory. Sizes of files are always checked, checksums with verify=True."""
        directory, verify = path_of("directory", directory, DataError), flag("verify", verify, DataError)
        manifest = read_manifest(directory)
        for record in manifest["shards"]:
            check_shard(directory, record, manifest["vocab_size"], verify)
        shards = [map_shard(directory, record, manifest["vocab_size"]) for record in manifest["shards"]]
        return cls(shards, manifest["vocab_size"], manifest["tokenizer_digest"], directory, manifest)

    @classmethod
    def from_documents(cls, documents, tokenizer):
        """Make a corpus of one shard, in memory, for tests and small texts."""
        of_kind("tokenizer", tokenizer, Tokenizer, DataError)
        documents = [of_kind("document", document, Document, DataError)
                     for document in of_kind("documents", documents, Iterable, DataError)]
        return cls([Shard(*pack(documents, tokenizer))], tokenizer.vocab_size, tokenizer.digest)

    def tokenizer(self):
        """The tokenizer that made the corpus, from the copy beside the shards."""
        tokenizer = load_tokenizer(self.directory / self.manifest["tokenizer"])
        self.check_tokenizer(tokenizer)
        return tokenizer

    def totals(self):
        return {
            "documents": sum(len(shard.documents) - 1 for shard in self.shards),
            "sentences": sum(len(shard.sentences) - 1 for shard in self.shards),
            "tokens": sum(len(shard.tokens) for shard in self.shards),
        }

    def split(self, share):
        """Two corpora: all but the last documents of each shard, and those, about `share` of all documents."""
        number("share", share, least=0, most=1, error=DataError)
        halves = [[], []]
        for shard in self.shards:
            count = len(shard.documents) - 1
            middle = count - round(share * count)
            for half, (first, last) in zip(halves, ((0, middle), (middle, count)), strict=True):
                if first < last:
                    half.append(shard.slice(first, last))
        return [replace(self, shards=shards) for shards in halves]

    def check_tokenizer(self, tokenizer):
        of_kind("tokenizer", tokenizer, Tokenizer, DataError)
        if tokenizer.digest != self.tokenizer_digest:
            raise DataError(
                f"the tokenizer ({tokenizer.vocab_size} pieces, digest {tokenizer.digest[:12]}) is not the one this "
                f"corpus was made with ({self.vocab_size} pieces, digest {self.tokenizer_digest[:12]})"
            )


def checksum(manifest):
    """SHA-256 of a manifest without its checksum."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_manifest(directory):
    path = Path(directory) / MANIFEST
    if not path.is_file():
        what = "its build did not finish" if any(Path(directory).glob("shard-*")) else "it is no corpus"
        raise DataError(f"{directory} has no {MANIFEST}, so {what}; `minalbert data build` makes and finishes one")
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        version, intact = manifest["format"], manifest["sha256"] == checksum(manifest)
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a manifest that `minalbert data build` wrote; {AGAIN}") from error
    if version != FORMAT:
        raise DataError(f"{path} has format {version}; this minalbert reads format {FORMAT}: {AGAIN}")
    if not intact:
        raise DataError(f"{path} was altered: its checksum is not that of its content; {AGAIN}")
    return manifest


def arrays(record, vocab_size):
    """{file's ending: (dtype, length)} for a shard's counts."""
    tokens, sentences, documents = record["tokens"], record["sentences"], record["documents"]
    return {
        "tok": (token_dtype(vocab_size), tokens),
        "sent": (offset_dtype(tokens), sentences + 1),
        "doc": (offset_dtype(sentences), documents + 1),
        "topic": (np.dtype("<i4"), documents),
    }


def check_shard(directory, record, vocab_size, verify=False):
    """Raise DataError, naming the file, if one of a shard's files is missing, too short or long, or altered."""
    for ending, (dtype, length) in arrays(record, vocab_size).items():
        path = Path(directory) / f"{record['name']}.{ending}"
        if not path.is_file():
            raise DataError(f"{path} is missing; {AGAIN}")
        size, wanted = path.stat().st_size, length * dtype.itemsize
        if size != wanted:
            raise DataError(f"{path} has {size:,} bytes; it must have {wanted:,}: {AGAIN}")
        if verify:
            with open(path, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != record["sha256"][ending]:
                raise DataError(f"{path} was altered: its SHA-256 is {found[:12]}..., not "
                                f"{record['sha256'][ending][:12]}...; {AGAIN}")  # fmt: skip


def map_shard(directory, record, vocab_size):
    return Shard(*(
        np.memmap(Path(directory) / f"{record['name']}.{ending}", dtype, mode="r", shape=(length,)).view(np.ndarray)
        if length else np.zeros(0, dtype)            # an empty file cannot be mapped
        for ending, (dtype, length) in arrays(record, vocab_size).items()
    ))  # fmt: skip


def verify(directory):
    """Open a corpus and compare every byte of it with its checksums."""
    return Corpus.open(directory, verify=True)
