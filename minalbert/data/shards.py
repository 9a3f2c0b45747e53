"""A corpus on disk: a directory with a `manifest.json` and, for each shard, four little-endian files.

    shard-000000.tok    (n,)    uint16, or uint32 for a vocabulary of more than 65,535 pieces
    shard-000000.sent   (S+1,)  the first token of each sentence in .tok; uint32, or uint64 past 4 billion
    shard-000000.doc    (D+1,)  the first sentence of each document in .sent, in the same way
    shard-000000.topic  (D,)    int32, -1 if the topic is not known

The manifest is written last: a directory without one is a build that did not finish. Whoever opens a corpus gets what
was built, or an error that names the file: all are compared with their SHA-256, and what they hold is checked.

A corpus of up to 256 MB is read into memory. The tokens of a larger one stay in their files, and slices of them are
read as they are wanted; those of a shard are verified at their first use, which is remembered (verified.py).
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
from .packing import pack
from .token_file import ChosenTokens, TokenFile, check_ids
from .tokenizer import Tokenizer
from .tokenizers import load_tokenizer
from .verified import Verified

IN_MEMORY = 2**28                                    # bytes


class Shard(NamedTuple):
    """The arrays of one shard."""

    tokens: np.ndarray                               # (n,)    uint16 or uint32; in a file, its slices are
    sentences: np.ndarray                            # (S+1,)  sentence s is tokens[sentences[s] : sentences[s + 1]]
    documents: np.ndarray                            # (D+1,)  document d has sentences documents[d] : documents[d + 1]
    topics: np.ndarray                               # (D,)    -1 if unknown

    def select(self, chosen):
        """A shard of the chosen documents alone; chosen: (D,) bool."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]))).reshape(-1, 2)
        ranges = self.sentences[self.documents].astype(np.int64)[edges]           # (R, 2) of tokens
        if isinstance(self.tokens, np.ndarray):
            tokens = np.concatenate([self.tokens[start:stop] for start, stop in ranges])
        else:
            tokens = ChosenTokens(self.tokens, ranges)
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
        verified = Verified(directory, len(found)) if size > IN_MEMORY else None
        shards = [open_shard(files, vocab_size, verified) for files in found]
        if verify and verified:
            for shard in shards:
                shard.tokens.verify()
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


def open_shard(files, vocab_size, verified):
    """files: {ending: ShardFile}; verified: None for a corpus that is read into memory."""
    tokens, *offsets_and_topics = files.values()
    sentences, documents, topics = (array(file) for file in offsets_and_topics)
    check_offsets(sentences, tokens.length, files["sent"].path)
    check_offsets(documents, len(sentences) - 1, files["doc"].path)
    if verified:
        return Shard(TokenFile(tokens, vocab_size, verified), sentences, documents, topics)
    in_memory = array(tokens)
    check_ids(in_memory, vocab_size, tokens.path)
    return Shard(in_memory, sentences, documents, topics)


def array(file):
    return np.frombuffer(read(file.path, AGAIN, file.record), file.dtype)


def check_offsets(offsets, last, path):
    """From 0 to `last`, and each greater than the one before: no sentence and no document is empty."""
    if offsets[0] != 0 or offsets[-1] != last or (offsets[1:] <= offsets[:-1]).any():
        raise DamagedError(f"{path} does not hold what it must: numbers that ascend from 0 to {last:,}; {AGAIN}")


def verify_shard(directory, shard, vocab_size):
    """Raise an error unless each file of a shard is the one that was written."""
    for file in shard_files(directory, shard, vocab_size).values():
        verify(file.path, file.record, AGAIN)


def offsets(lengths, dtype):
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(dtype)
