"""A corpus on disk: a directory with a `manifest.json` and, for each shard, four little-endian files.

    shard-000000.tok    (n,)    uint16, or uint32 for a vocabulary of more than 65,535 pieces
    shard-000000.sent   (S+1,)  the first token of each sentence in .tok; uint32, or uint64 past 4 billion
    shard-000000.doc    (D+1,)  the first sentence of each document in .sent, in the same way
    shard-000000.topic  (D,)    int32, -1 if the topic is not known

The manifest is written last: a directory without one is a build that did not finish. Whoever opens a corpus gets what
was built, or an error that names the file: all are compared with their SHA-256, and what they hold is checked.

A corpus of up to 256 MB is read into memory. A larger one stays in its files, of which slices are read as they are
wanted; a file is verified at its first use, which is remembered (verified.py).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arguments import flag, of_kind, path_of
from ..errors import DamagedError, DataError
from ..files import read, verify
from .documents import Document
from .held_out import NEWEST, held_out
from .manifest import AGAIN, read_manifest, shard_files
from .offset_file import ChosenOffsets, ShardArray, check_offsets, opener
from .packing import pack
from .token_file import ChosenTokens, TokenFile, check_ids
from .tokenizer import Tokenizer
from .tokenizers import load_tokenizer
from .verified import Verified

IN_MEMORY = 2**28                                    # bytes


class Shard(NamedTuple):
    """The arrays of one shard; in files, their slices are."""

    tokens: np.ndarray                               # (n,)    uint16 or uint32
    sentences: np.ndarray                            # (S+1,)  sentence s is tokens[sentences[s] : sentences[s + 1]]
    documents: np.ndarray                            # (D+1,)  document d has sentences documents[d] : documents[d + 1]
    topics: np.ndarray                               # (D,)    -1 if unknown

    def select(self, chosen):
        """A shard of the chosen documents alone; chosen: (D,) bool."""
        ranges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]))).reshape(-1, 2)
        of_sentences = np.asarray(self.documents)[ranges].astype(np.int64)        # (R, 2), as `ranges` of documents
        of_tokens = np.asarray(self.sentences)[of_sentences].astype(np.int64)
        if not isinstance(self.tokens, np.ndarray):
            return Shard(ChosenTokens(self.tokens, of_tokens), ChosenOffsets(self.sentences, of_sentences, of_tokens),
                         ChosenOffsets(self.documents, ranges, of_sentences), ChosenTokens(self.topics, ranges))
        tokens = np.concatenate([self.tokens[start:stop] for start, stop in of_tokens])
        sentences = np.diff(self.sentences)[np.repeat(chosen, np.diff(self.documents))]
        documents = np.diff(self.documents)[chosen]
        return Shard(tokens, offsets(sentences, self.sentences.dtype), offsets(documents, self.documents.dtype),
                     self.topics[chosen])


@dataclass
class Corpus:
    """Shards, and which tokenizer made them."""

    shards: list[Shard]
    vocab_size: int
    tokenizer_digest: str
    directory: Path | None = None                    # None: in memory
    manifest: dict | None = None
    chosen: str = "all"                              # which of the directory's documents

    @classmethod
    def open(cls, directory, verify=False):
        """Open the corpus in a directory. verify: read every byte of a large one, too."""
        directory, verify = path_of("directory", directory, DataError), flag("verify", verify, DataError)
        manifest = read_manifest(directory)
        vocab_size = manifest["vocab_size"]
        found = [shard_files(directory, shard, vocab_size) for shard in manifest["shards"]]
        size = sum(file.record.size for shard in found for file in shard.values())
        if size > IN_MEMORY:
            verified = Verified(directory, sum(map(len, found)))
            opened = opener(verified)
            shards = [shard_in_files(files, vocab_size, verified, opened) for files in found]
        else:
            shards = [shard_in_memory(files, vocab_size) for files in found]
        if verify and size > IN_MEMORY:
            for shard in shards:
                for one in shard:
                    one.verify()
        return cls(shards, vocab_size, manifest["tokenizer_digest"], directory, manifest)

    @classmethod
    def from_documents(cls, documents, tokenizer):
        """Make a corpus of one shard, in memory, for tests and small texts."""
        of_kind("tokenizer", tokenizer, Tokenizer, DataError)
        documents = [of_kind("document", document, Document, DataError)
                     for document in of_kind("documents", documents, Iterable, DataError)]
        return cls([Shard(*pack(documents, tokenizer))], tokenizer.vocab_size, tokenizer.digest)

    def tokenizer(self):
        """The tokenizer that made the corpus, from the copy beside the shards."""
        path = self.directory / self.manifest["tokenizer"]
        try:
            tokenizer = load_tokenizer(path, AGAIN)
            self.check_tokenizer(tokenizer)
        except DataError as error:
            raise DamagedError(f"{path} is damaged: {error}; {AGAIN}") from error
        return tokenizer

    def totals(self):
        return {
            "documents": sum(len(shard.documents) - 1 for shard in self.shards),
            "sentences": sum(len(shard.sentences) - 1 for shard in self.shards),
            "tokens": sum(len(shard.tokens) for shard in self.shards),
        }

    def split(self, share, seed=0, rule=NEWEST):
        """Two corpora: the documents to train on, and those held out, `share` of all. held_out.py says which."""
        counts = [len(shard.documents) - 1 for shard in self.shards]
        parts = np.split(held_out(counts, share, seed, rule), np.cumsum(counts)[:-1])
        return [
            replace(self, shards=[shard.select(part == side) for shard, part in zip(self.shards, parts, strict=True)
                                  if (part == side).any()],
                    chosen=f"{self.chosen}; {share} by {rule}, seed {seed}: {kept}")
            for side, kept in ((False, "others"), (True, "held out"))
        ]  # fmt: skip

    def check_tokenizer(self, tokenizer):
        of_kind("tokenizer", tokenizer, Tokenizer, DataError)
        if tokenizer.digest != self.tokenizer_digest:
            raise DataError(
                f"the tokenizer ({tokenizer.vocab_size} pieces, digest {tokenizer.digest[:12]}) is not the one this "
                f"corpus was made with ({self.vocab_size} pieces, digest {self.tokenizer_digest[:12]})"
            )


def shard_in_files(files, vocab_size, verified, opened):
    """files: {ending: ShardFile}; opened: an opener of offset_file.py"""
    tokens, sentences, documents, topics = files.values()
    return Shard(TokenFile(tokens, vocab_size, verified), ShardArray(sentences, opened, tokens.length),
                 ShardArray(documents, opened, sentences.length - 1), ShardArray(topics, opened))


def shard_in_memory(files, vocab_size):
    shard = Shard(*(np.frombuffer(read(file.path, AGAIN, file.record), file.dtype) for file in files.values()))
    check_offsets(shard.sentences, len(shard.tokens), files["sent"].path)
    check_offsets(shard.documents, len(shard.sentences) - 1, files["doc"].path)
    check_ids(shard.tokens, vocab_size, files["tok"].path)
    return shard


def verify_shard(directory, shard, vocab_size):
    """Raise an error unless each file of a shard is the one that was written."""
    for file in shard_files(directory, shard, vocab_size).values():
        verify(file.path, file.record, AGAIN)


def offsets(lengths, dtype):
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(dtype)
