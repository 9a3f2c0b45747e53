"""Counts: what a corpus holds, what a recipe makes of it, and what the recipe asks for."""

from itertools import pairwise

import numpy as np

from ..arguments import of_kind
from ..errors import DataError
from .instances import Instances
from .random_draws import keys
from .recipe import whole_number
from .shards import Corpus
from .strip import KINDS, kind_of_mask

SAMPLE = 2000
MEASURED = 100_000                                   # instances, of which only the segments are made
BINS = 8
REPLACEMENTS = {"[MASK]": 0.8, "a random piece": 0.1, "the token itself": 0.1}


def corpus_stats(corpus):
    """Count, and measure sentences and documents. Reads the offsets of all shards, not the tokens."""
    of_kind("corpus", corpus, Corpus, DataError)
    sentences = [np.diff(shard.sentences) for shard in corpus.shards]
    documents = [np.diff(shard.documents) for shard in corpus.shards]
    whole = [np.diff(np.asarray(shard.sentences)[np.asarray(shard.documents)]) for shard in corpus.shards]
    return {
        **corpus.totals(),
        "vocab_size": corpus.vocab_size,
        "shards": len(corpus.shards),
        "token_bytes": sum(shard.tokens.nbytes for shard in corpus.shards),
        "histograms": {
            "tokens in a sentence": histogram(np.concatenate(sentences)),
            "sentences in a document": histogram(np.concatenate(documents)),
            "tokens in a document": histogram(np.concatenate(whole)),
        },
    }


def instance_stats(instances, sample=SAMPLE, epoch=0):
    """Shares among `sample` instances, evenly spread over an epoch, and the shares that the recipe asks for."""
    of_kind("instances", instances, Instances, DataError)
    sample = whole_number("sample", sample, 1)
    numbers = np.unique(np.linspace(0, len(instances) - 1, min(sample, len(instances))).astype(np.int64))
    details = [instances.detail(epoch, int(number)) for number in numbers]
    recipe = instances.recipe
    lengths = np.array([len(detail.input_ids) for detail in details])
    spans = [span.words for detail in details for span in detail.spans]
    masked = [(detail, place) for detail in details for span in detail.spans for place in span.positions]
    kinds = [kind_of_mask(detail, place) for detail, place in masked]
    weights = [1 / n for n in range(1, recipe.max_ngram + 1)][:: 1 if recipe.favor_shorter else -1]
    capped = np.minimum(recipe.max_predictions, np.maximum(1, np.rint(recipe.mask_fraction * lengths)))

    shares = []
    if recipe.pairs != "none":
        name = "swapped" if recipe.pairs == "sop" else "not the next"
        shares.append(share(name, sum(detail.label for detail in details), len(details), 0.5, "labels"))
    shares.append(share("tokens to predict", len(masked), int(lengths.sum()), capped.sum() / lengths.sum(), "masks"))
    for kind, (name, wanted) in zip(KINDS, REPLACEMENTS.items(), strict=True):
        shares.append(share(name, kinds.count(kind), len(kinds), wanted, "what stands there"))
    for n, weight in enumerate(weights, 1):
        name = "1 word" if n == 1 else f"{n} words"
        shares.append(share(name, spans.count(n), len(spans), weight / sum(weights), "spans"))
    return {
        "instances": len(instances),
        "looked_at": len(numbers),
        "epoch": epoch,
        "documents_left_out": int(instances.table.left_out),
        "tokens": token_shares(instances, epoch),
        "shares": shares,
        "histograms": {"tokens in an instance": histogram(lengths)},
    }


def token_shares(instances, epoch):
    """Shares of the corpus's tokens: those that an epoch reads, those that it cuts off, those that no epoch reads.

    Of a large corpus, instances are looked at that are evenly spread. A token that is read twice counts twice.
    """
    texts, seed = instances.texts, instances.seed
    total = sum(map(len, texts.tokens))
    in_instances = sum(tokens_of_used(texts, shard, table) for shard, table in enumerate(instances.table.tables))
    numbers = np.unique(np.linspace(0, len(instances) - 1, min(MEASURED, len(instances))).astype(np.int64))
    lengths = instances.pairs.choose(numbers, keys(seed, epoch, numbers)).lengths
    read = lengths.sum() * (len(instances) / len(numbers)) / total
    left_out = 1 - in_instances / total
    cut_off = max(0.0, 1 - left_out - read)
    return {"read": float(read), "cut_off": float(cut_off), "in_documents_left_out": float(left_out)}


def tokens_of_used(texts, shard, table):
    """The tokens of one shard's documents that give an instance."""
    used = np.unique(table.numbers[:, 0]).astype(np.int64)
    edges = np.asarray(texts.sentences[shard])[np.asarray(texts.documents[shard])].astype(np.int64)
    return int((edges[used + 1] - edges[used]).sum())


def share(name, count, total, wanted, group):
    return {"group": group, "name": name, "count": int(count), "of": int(total),
            "share": count / max(1, total), "asked_for": float(wanted)}  # fmt: skip


def histogram(values):
    """Counts in at most 8 steps of whole numbers; the last one takes all above. `names` are the steps in words."""
    if not len(values):
        return {"mean": 0.0, "median": 0.0, "largest": 0, "starts": [], "names": [], "counts": []}
    low, high = int(values.min()), int(np.quantile(values, 0.99, method="higher"))
    step = next(size for power in range(20) for size in (10**power, 2 * 10**power, 5 * 10**power)
                if high // size - low // size < BINS)  # fmt: skip
    starts = np.arange(low // step, high // step + 1) * step
    which = np.minimum(values // step - low // step, len(starts) - 1).astype(np.int64)
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "largest": int(values.max()),
        "starts": starts.tolist(),
        "names": step_names(starts.tolist(), int(values.max())),
        "counts": np.bincount(which, minlength=len(starts)).tolist(),
    }


def step_names(starts, largest):
    """8-9, 10-11, ... and 12, or 12- if the last step takes larger values too."""
    names = [str(start) if end == start + 1 else f"{start}-{end - 1}" for start, end in pairwise(starts)]
    return [*names, f"{starts[-1]}" + "-" * (largest > starts[-1])]
