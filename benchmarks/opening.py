"""How long does it take to open a corpus that is verified, and to start a training?

    python benchmarks/opening.py [--case NAME ...] [--gigabytes 1] [--runs 7] [--before CHECKOUT] [--json]

    corpus    made up, random tokens in four shards, from the page cache, in a process each: the SHA-256 of all files
              alone; opening it and using each shard for the first time; and the same again, when what was verified is
              remembered. Ratios to the hash's time
    demo      the start of `minalbert demo`'s training: from the start of the process until its first step is made.
              With --before, that of another checkout takes turns

Wall clock, medians; ratios are medians over runs that follow each other.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import numpy as np
from tqdm import tqdm

from minalbert.commands.demo import STORIES, WORLDS
from minalbert.data.build import build, finish
from minalbert.data.sources import story_sources
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.files import settle, write_atomically

HERE = Path(__file__).resolve().parents[1]
SHARDS, WORDS, SENTENCE, DOCUMENT = 4, 30_000, 20, 30  # tokens in a sentence, sentences in a document
HASH = """
import hashlib, sys, time, pathlib
begin = time.perf_counter()
for path in sorted(pathlib.Path(sys.argv[1]).glob("shard-*")):
    with open(path, "rb") as file:
        hashlib.file_digest(file, "sha256")
print(time.perf_counter() - begin)
"""
OPEN = """
import sys, time
from minalbert.data.shards import Corpus
begin = time.perf_counter()
for shard in Corpus.open(sys.argv[1]).shards:
    shard.tokens[:1]
print(time.perf_counter() - begin)
"""
START = """
import os, sys
from minalbert.commands.demo import RECIPE
from minalbert.train import loop, pretrain
next_step = loop.Trainer.next_step
def first(trainer):
    next_step(trainer)
    print(flush=True)
    os._exit(0)
loop.Trainer.next_step = first
pretrain(RECIPE.change(corpus=sys.argv[1]), sys.argv[2])
"""


def run(script, *arguments, checkout=HERE):
    """What a process prints, and how long it takes."""
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    begin = time.perf_counter()
    printed = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], env=environment, check=True, stdout=subprocess.PIPE
    ).stdout
    return printed, time.perf_counter() - begin


# A corpus.


def made_up(directory, gigabytes):
    directory.mkdir()
    tokenizer = WordTokenizer(f"w{i}" for i in range(WORDS))
    tokenizer.save(directory / tokenizer.file_name)
    size = 2 + 4 / SENTENCE + 8 / SENTENCE / DOCUMENT  # bytes of a token and its share of offsets and topics
    documents = round(gigabytes * 1e9 / size / SHARDS / SENTENCE / DOCUMENT)
    records = [made_up_shard(directory, number, documents) for number in range(SHARDS)]
    identity = {"tokenizer_digest": tokenizer.digest, "vocab_size": tokenizer.vocab_size}
    finish(directory, records, tokenizer.file_name, identity)
    settle(directory)


def made_up_shard(directory, number, documents):
    sentences, tokens = documents * DOCUMENT, documents * DOCUMENT * SENTENCE
    arrays = {
        "tok": np.random.default_rng(number).integers(5, WORDS, tokens, dtype=np.uint16),
        "sent": np.arange(0, tokens + 1, SENTENCE, dtype=np.uint32),
        "doc": np.arange(0, sentences + 1, DOCUMENT, dtype=np.uint32),
        "topic": np.full(documents, -1, np.int32),
    }
    name = f"shard-{number:06d}"
    hashes = {ending: write_atomically(directory / f"{name}.{ending}", array) for ending, array in arrays.items()}
    return {"name": name, "source": "made up", "documents": documents, "sentences": sentences, "tokens": tokens,
            "sha256": hashes}  # fmt: skip


def time_corpus(options, place):
    corpus = place / "corpus"
    made_up(corpus, options.gigabytes)
    time.sleep(3)  # what has just been written is not remembered as verified
    ways = {"the hash alone": HASH, "open, first use": OPEN, "open again": OPEN}
    found = {name: [] for name in ways}
    for number in tqdm(range(options.runs + 1), desc="corpus", file=sys.stderr):
        for name, script in ways.items():
            if name == "open, first use":
                (corpus / "verified.json").unlink(missing_ok=True)
            seconds = float(run(script, corpus)[0])
            if number:  # the first fills the page cache
                found[name].append(seconds)
    return compared(found, "the hash alone")


# The demo.


def time_demo(options, place):
    corpus = place / "worlds"
    build(story_sources(WORLDS, STORIES), WordTokenizer(WORLDS.words()), corpus)
    ways = {"now": HERE, **({"before": Path(options.before).resolve()} if options.before else {})}
    found = {name: [] for name in ways}
    for number in tqdm(range(options.runs + 1), desc="demo", file=sys.stderr):
        for name, checkout in [*ways.items()][:: 1 if number % 2 else -1]:
            shutil.rmtree(place / "run", ignore_errors=True)
            _, seconds = run(START, corpus, place / "run", checkout=checkout)
            if number:
                found[name].append(seconds)
    return compared(found, [*ways][-1])


def compared(found, peer):
    """{name: (median seconds, median ratio to the peer's)}"""
    return {
        name: (statistics.median(times), statistics.median(a / b for a, b in zip(times, found[peer], strict=True)))
        for name, times in found.items()
    }


CASES = {"corpus": time_corpus, "demo": time_demo}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=[*CASES], help="default: all")
    parser.add_argument("--gigabytes", type=float, default=1, help="of the corpus; default: 1")
    parser.add_argument("--runs", type=int, default=7, help="default: 7")
    parser.add_argument("--before", metavar="CHECKOUT", help="another checkout, for the demo's start")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found = {}
    for case in options.case:
        with tempfile.TemporaryDirectory() as place:
            found[case] = CASES[case](options, Path(place))
    if options.json:
        print(json.dumps(found))
        return
    for case, ways in found.items():
        for name, (seconds, ratio) in ways.items():
            print(f"{case:8} {name:18} {seconds:7.3f} s   ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
