"""How fast does text become shards, beside the tokenizer's own speed?

    python benchmarks/tokenise.py [--stories 40000] [--runs 5] [--json]

Generated stories are written as text, a vocabulary is trained on them, and then three things take turns: `minalbert
data build` with one worker and with two, and sentencepiece alone, which encodes the same sentences, read and cleaned
up beforehand. That is the peer and the floor: no way of building can be faster than its tokenizer. Seconds by the
clock; the ratio is the median over rounds.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from minalbert.data.build import build
from minalbert.data.documents import read_documents
from minalbert.data.sentencepiece_training import train
from minalbert.data.sources import text_sources
from minalbert.data.tiny_worlds import TinyWorlds

AT_ONCE = 1000  # sentences in a call of sentencepiece, as in a build


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def write_text(path, stories):
    worlds = TinyWorlds(seed=0, lexicon_scale=5.0)
    with open(path, "w", encoding="utf-8") as file:
        for index in range(stories):
            file.write("\n".join(worlds.story(index).sentences) + "\n\n")


def measure(stories, runs):
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        write_text(folder / "text.txt", stories)
        megabytes = (folder / "text.txt").stat().st_size / 1e6
        sentences = [sentence for document in read_documents(folder / "text.txt") for sentence in document.sentences]
        tokenizer = train(sentences[:100_000], 2000)
        tokenizer.save(folder / "spiece.model")
        clean = tokenizer.normaliser.many(sentences)

        import sentencepiece

        peer = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))

        def alone():
            for first in range(0, len(clean), AT_ONCE):
                peer.encode(clean[first : first + AT_ONCE], num_threads=1)

        def built(workers, turn):
            sources = text_sources([folder / "text.txt"], shard_tokens=int(megabytes * 1e6 / 4 / 8))
            build(sources, folder / "spiece.model", folder / f"{workers}-{turn}", workers=workers)

        taken = {1: [], 2: [], "alone": []}
        for turn in range(runs):
            for workers in (1, 2):
                taken[workers].append(seconds(lambda w=workers, t=turn: built(w, t)))
            taken["alone"].append(seconds(alone))
    for workers in (1, 2):
        ratios = sorted(a / b for a, b in zip(taken[workers], taken["alone"], strict=True))
        yield {
            "case": f"data build, {workers} worker{'s' * (workers > 1)}",
            "ours": statistics.median(taken[workers]),
            "peer": statistics.median(taken["alone"]),
            "floor": statistics.median(taken["alone"]) / workers,
            "ratio": statistics.median(ratios),
            "spread": [ratios[0], ratios[-1]],
            "megabytes": megabytes,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stories", type=int, default=40_000, help="of text (default: 40000, about 18 MB)")
    parser.add_argument("--runs", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    for row in measure(options.stories, options.runs):
        if options.json:
            print(json.dumps(row))
        else:
            print(
                f"{row['case']:22} {row['megabytes'] / row['ours']:6.1f} MB/s   sentencepiece alone "
                f"{row['megabytes'] / row['peer']:6.1f} MB/s   {row['ratio']:.2f} of its time "
                f"({row['spread'][0]:.2f} to {row['spread'][1]:.2f})"
            )


if __name__ == "__main__":  # the workers of a build import this file again
    sys.exit(main())
