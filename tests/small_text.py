"""Text, tokenizer and corpus directories for the tests of what lies on disk."""

import hashlib
import random

from minalbert.data.word_tokenizer import WordTokenizer

WORDS = [f"w{i}" for i in range(60)]


def sentences(rng, fewest=1):
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for _ in range(rng.randint(fewest, 7))]


def documents(count=60, seed=0, fewest=1):
    rng = random.Random(seed)
    return [sentences(rng, fewest) for _ in range(count)]


def write_lines(path, texts, between="\n\n"):
    path.write_text(between.join("\n".join(text) for text in texts) + "\n", encoding="utf-8")
    return path


def tokenizer():
    return WordTokenizer(WORDS)


def bytes_of(directory):
    """{name: SHA-256} of all files."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.iterdir())}
