"""How many instances a second, and how many does the released script's way make?

    python benchmarks/data.py [--case NAME ...] [--runs 7] [--size 32] [--json]

From a corpus of tokens to batches, on one core: chunks, pairs, whole-word n-gram masks, replacements, arrays. The
text is made up: Zipf's tokens, sentences of 20 on average, 70 % of pieces beginning a word. There are two peers,
both an instance at a time, padded to the same rows:

    plain Python        minalbert/data/released.py: the released script's algorithm, written anew and lean
    the script's steps  the same, with the script's costs: pieces are strings and their letters say whether one
                        begins a word, the spans of every word are laid out beforehand, NumPy draws each length

Before anything is timed, ours and the peer must mask alike. Their runs take turns; times are CPU seconds per 1,000
instances, and the ratio is the median over pairs. The floor is a plain copy of the finished batches: no program
that makes new arrays can be faster.
"""

import argparse
import json
import os
import random
import statistics
import string
import sys
import time
from types import SimpleNamespace

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

import numpy as np
from tqdm import tqdm

from minalbert.data import released
from minalbert.data.instances import Instances, Recipe

VOCABULARY = 30000
SHORT, LONG = {"max_length": 128, "max_predictions": 20}, {"max_length": 512, "max_predictions": 77}
CASES = {
    # name: (recipe, which peer)
    "128, plain Python": (Recipe(**SHORT), "plain"),
    "128 as released, plain Python": (Recipe.released(**SHORT), "plain"),
    "128, the script's steps": (Recipe(**SHORT), "steps"),
    "512, plain Python": (Recipe(**LONG), "plain"),
    "512 as released, plain Python": (Recipe.released(**LONG), "plain"),
    "512, the script's steps": (Recipe(**LONG), "steps"),
}
OURS, THEIRS = 4096, 200  # instances a run


def made_up(documents, seed=0):
    """A corpus and its tokenizer, as far as instances need them."""
    rng = np.random.default_rng(seed)
    sentences = 2 + rng.poisson(58, documents)
    lengths = np.maximum(1, rng.gamma(4, 5, sentences.sum()).astype(int))
    zipf = np.cumsum(1 / np.arange(1, VOCABULARY - 4))
    tokens = 5 + np.searchsorted(zipf, rng.random(lengths.sum()) * zipf[-1])
    shard = SimpleNamespace(
        tokens=tokens.astype(np.uint16),
        sentences=np.cumsum([0, *lengths]).astype(np.uint32),
        documents=np.cumsum([0, *sentences]).astype(np.uint32),
        topics=np.full(documents, -1, np.int32),
    )
    word_starts = rng.random(VOCABULARY) < 0.7
    spelled = ("".join(rng.choice(list("etaoinshrdlu"), size)) for size in rng.integers(2, 7, VOCABULARY))
    pieces = ["▁" * int(starts) + letters for starts, letters in zip(word_starts, spelled, strict=True)]
    corpus = SimpleNamespace(shards=[shard], vocab_size=VOCABULARY, tokenizer_digest="made up")
    return corpus, SimpleNamespace(word_starts=word_starts, pieces=pieces, digest="made up")


def as_lists(shard):
    sentences = [part.tolist() for part in np.split(shard.tokens, shard.sentences[1:-1])]
    return [sentences[a:b] for a, b in zip(shard.documents[:-1], shard.documents[1:], strict=True)]


def our_batches(instances, size, epochs=1000):
    for epoch in range(epochs):
        yield from instances.batches(size, epoch)


def peer_rows(corpus, tokenizer, recipe, peer, documents=600):
    """Without end: the released script's instances, padded as its files are."""
    T, P = recipe.max_length, recipe.max_predictions
    text, rng = as_lists(corpus.shards[0])[:documents], random.Random(0)
    begins = tokenizer.word_starts.tolist() if peer == "plain" else tokenizer.pieces
    released.mask = PEERS[peer]
    while True:
        for made in released.instances(text, begins, VOCABULARY, recipe, rng):
            padding, unused = [0] * (T - len(made.ids)), [0] * (P - len(made.positions))
            yield (
                made.masked + padding,
                [1] * len(made.ids) + padding,
                made.types + padding,
                made.positions + unused,
                made.labels + unused,
                [1.0] * len(made.labels) + unused,
                made.label,
            )


def begins_word(piece):
    """As the script asks it of every token: its alphabets are made anew each time."""
    signs, letters = set(string.punctuation) - set("'<=>"), set(string.ascii_lowercase)
    if piece.startswith("▁") or piece.startswith("<") or piece in signs:
        return True
    return not all(letter.lower() in letters.union(signs) for letter in piece)


def mask_in_steps(ids, pieces, vocab_size, recipe, rng):
    """released.mask as the script goes about it; spans cross segments, as there."""
    words = []
    for position, token in enumerate(ids):
        if token in (2, 3):
            continue
        if words and not begins_word(pieces[token]):
            words[-1].append(position)
        else:
            words.append([position])
            begins_word(pieces[token])  # asked twice: it writes down where words begin
    budget = min(recipe.max_predictions, max(1, round(len(ids) * recipe.mask_fraction)))
    ngrams = np.arange(1, recipe.max_ngram + 1)
    shares = 1 / ngrams / (1 / ngrams).sum()
    spans = [[words[start : start + n] for n in ngrams] for start in range(len(words))]
    rng.shuffle(spans)
    masked, taken, lengths = list(ids), set(), []
    for choices in spans:
        if len(taken) >= budget:
            break
        n = np.random.choice(ngrams, p=shares / shares.sum())  # noqa: NPY002 (the script's own, which nothing seeds)
        while n and len(span := sum(choices[n - 1], [])) > budget - len(taken):  # noqa: RUF017
            n -= 1
        if not n or any(position in taken for position in span):
            continue
        lengths.append(len(choices[n - 1]))
        for position in span:
            taken.add(position)
            masked[position] = released.replacement(ids[position], vocab_size, recipe, rng)
    return masked, sorted(taken), lengths


PEERS = {"plain": released.mask, "steps": mask_in_steps}


def figures(ids, mask, positions, labels, weights, orders):
    """What must be alike before speed means anything."""
    used = weights > 0
    seen = np.take_along_axis(ids, positions, 1)[used]
    gaps = np.diff(np.where(used, positions, 10**6), axis=1)
    return {
        "tokens": mask.sum() / len(mask),
        "masked": used.sum() / mask.sum(),
        "beside another": (gaps == 1).sum() / used.sum(),
        "[MASK]": (seen == 4).mean(),
        "unchanged": (seen == labels[used]).mean(),
        "label 1": orders.mean(),
    }


def check_alike(name, corpus, tokenizer, recipe, peer):
    """Ours under the peer's policy, against the peer: nothing is timed unless all figures agree to 5 %. Without short
    documents: all of one's instances share its luck, and few documents would not do."""
    crossing = recipe.spans_cross_segments or peer == "steps"
    recipe = recipe.replace(policy="released", short_fraction=0.0, spans_cross_segments=crossing)
    rows = peer_rows(corpus, tokenizer, recipe, peer)
    theirs = [np.array(column) for column in zip(*(next(rows) for _ in range(3000)), strict=True)]
    ours = Instances(corpus, tokenizer, recipe, seed=1).batch(0, np.arange(3000))
    one = figures(ours.input_ids, ours.attention_mask, *ours[3:])
    other = figures(*theirs[:2], *theirs[3:])
    for key in one:
        if abs(one[key] / other[key] - 1) > 0.05:
            sys.exit(f"{name}: {key} is {one[key]:.4f}, the peer's {other[key]:.4f}: nothing to compare")
    return one, other


def seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def measure(name, runs, size, corpus, tokenizer):
    recipe, peer = CASES[name]
    alike = check_alike(name, corpus, tokenizer, recipe, peer)
    stream = our_batches(Instances(corpus, tokenizer, recipe), size)
    rows = peer_rows(corpus, tokenizer, recipe, peer)
    count = -(-OURS // 512) * 512 // size  # whole blocks: none is left half used
    batches = []

    def ours():
        batches[:] = [next(stream) for _ in range(count)]
        return len(batches) * size

    def theirs():
        return sum(1 for _, _ in zip(range(THEIRS), rows, strict=False))

    def copy():
        for batch in batches:
            for array in batch:
                array.copy()

    ours(), theirs()
    pairs, copies = [], []
    for run in tqdm(range(runs), desc=name, leave=False, disable=not sys.stderr.isatty()):
        taken = {}
        for call, made in ((ours, count * size), (theirs, THEIRS))[:: 1 if run % 2 else -1]:
            taken[call] = 1000 * seconds(call) / made
        pairs.append((taken[ours], taken[theirs]))
        copies.append(1000 * min(seconds(copy) for _ in range(3)) / (count * size))
    ratios = sorted(a / b for a, b in pairs)
    return alike, {
        "case": name,
        "ours": statistics.median(a for a, _ in pairs),
        "peer": statistics.median(b for _, b in pairs),
        "floor": statistics.median(copies),
        "ratio": statistics.median(ratios),
        "spread": [ratios[0], ratios[-1]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=CASES, metavar="NAME", help=" | ".join(CASES))
    parser.add_argument("--runs", type=int, default=7, help="pairs of runs per case (default: 7)")
    parser.add_argument("--size", type=int, default=32, help="rows of a batch (default: 32)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    corpus, tokenizer = made_up(3000)
    for name in options.case:
        (ours, theirs), row = measure(name, options.runs, options.size, corpus, tokenizer)
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        length = CASES[name][0].max_length
        rates = {who: 1000 / row[who] for who in ("ours", "peer")}
        print(
            f"{name:30} ours {rates['ours']:8,.0f}/s = {rates['ours'] * length / 1e6:5.1f} M tokens/s   "
            f"peer {rates['peer']:7,.0f}/s   {1 / row['ratio']:5.1f} times the peer "
            f"({1 / row['spread'][1]:.1f} to {1 / row['spread'][0]:.1f})   {row['ours'] / row['floor']:.0f} x floor"
        )
        alike = (f"{key} {ours[key]:.4g} and {theirs[key]:.4g}" for key in ours)
        print(f"{'':30} alike: {', '.join(alike)}", flush=True)


if __name__ == "__main__":
    main()
