"""The input of an audit: the segments of instances, without any mask."""

import numpy as np

from ..arguments import of_kind
from ..errors import DataError
from .audit import Finding, audit, chance_bound
from .instances import Instances
from .recipe import whole_number
from .tiny_worlds.scripts import CONNECTIVE_WORDS
from .tokenizer import Tokenizer

ROWS = 512
FEWEST = 40                                          # pairs that the probes need
MOST_USUAL = 0.52                                    # share of the more frequent label that counts as a half
ENGLISH = ("then", "later", "after", "afterwards", "before", "next", "first", "finally", "soon", "now", "but", "and",
           "so", "because", "therefore", "however", "thus", "yet", "still", "meanwhile", "again", "also")  # fmt: skip


def pairs_and_labels(instances, sample, epoch=0):
    """([(ids of A, ids of B)], labels) of `sample` instances, evenly spread over an epoch."""
    of_kind("instances", instances, Instances, DataError)
    sample = whole_number("sample", sample, 1)
    numbers = np.unique(np.linspace(0, len(instances) - 1, min(sample, len(instances))).astype(np.int64))
    pairs, labels = [], []
    for first in range(0, len(numbers), ROWS):
        batch = instances.batch(epoch, numbers[first : first + ROWS])
        ids = batch.input_ids.copy()
        row, slot = np.nonzero(batch.mlm_weights)
        ids[row, batch.mlm_positions[row, slot]] = batch.mlm_labels[row, slot]
        lengths = batch.attention_mask.sum(1)
        borders = lengths - batch.token_type_ids.sum(1)                 # past the first [SEP]
        for line, border, length in zip(ids, borders.tolist(), lengths.tolist(), strict=True):
            pairs.append((line[1 : border - 1], line[border : length - 1]))
        labels += batch.sop_labels.tolist()
    return pairs, labels


def audit_instances(instances, tokenizer, sample, epoch=0, seed=0):
    """The findings of all probes, and one more: is one label more frequent?

    The probes get as many pairs of one label as of the other. Otherwise, if 83 % were swapped, a probe that finds only
    that would look like chance.
    """
    of_kind("tokenizer", tokenizer, Tokenizer, DataError)
    seed = whole_number("seed", seed)
    pairs, labels = pairs_and_labels(instances, sample, epoch)
    labels = np.array(labels)
    often = max(labels.mean(), 1 - labels.mean())
    bound = chance_bound(0.5, len(labels))
    balance = Finding("usual label", float(often), len(labels), bound, max(MOST_USUAL, bound),
                      f"{labels.mean():.1%} have label 1")  # fmt: skip
    kept = balanced(labels, seed)
    if len(kept) < FEWEST:
        return [balance]                             # too few pairs to probe
    names = tokenizer.pieces
    connectives = connective_ids(tokenizer)
    findings = audit([pairs[i] for i in kept], labels[kept], connectives, names, seed)
    counted = f"of the connectives, {len(connectives)} are a piece of their own"
    findings = [f._replace(detail=counted) if f.probe == "connectives only" else f for f in findings]
    return [*findings, balance]


def balanced(labels, seed=0):
    """The places of equally many zeros and ones."""
    rng = np.random.default_rng(seed)
    places = [rng.permutation(np.flatnonzero(labels == label)) for label in (0, 1)]
    fewest = min(map(len, places))
    return np.sort(np.concatenate([some[:fewest] for some in places]))


def connective_ids(tokenizer):
    """The connectives that are one piece, capitalised or not."""
    words = sorted({form for word in (*CONNECTIVE_WORDS, *ENGLISH) for form in (word.lower(), word.capitalize())})
    encoded = tokenizer.encode_many(words)
    return sorted({ids[0] for ids in encoded if len(ids) == 1 and ids[0] > 4})
