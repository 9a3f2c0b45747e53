"""The data of a run: what it trains on, what it is tested on, and what its scores are compared with."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..analysis.cost import optimiser_bytes
from ..analysis.memory import activation_bytes
from ..arguments import of_kind, refusal
from ..capacity import check_memory
from ..data.held_out import OLDEST, Split
from ..data.instances import Instances
from ..data.order import instances_at
from ..data.shards import Corpus
from ..errors import ConfigError, DataError
from ..parallel.slices import examples_together
from ..params import count
from .evaluation import Baselines, baselines
from .settings import Settings

SPLIT = "split"                                      # the key of the Split in `hashes`


class TrainingData(NamedTuple):
    config: Any                                      # AlbertConfig, with the corpus's vocabulary
    tokenizer: Any
    instances: Instances
    held_out: Any                                    # a Batch, always the same
    baselines: Baselines
    pairs: str                                       # what the second segment is about: sop, nsp or none
    hashes: dict                                     # of tokenizer and data
    tested_on: str                                   # a sentence: which documents are held out


def prepare(settings, corpus=None, held_out=None, split=None):
    """Open the corpora that the settings name, unless they are given: a pair (corpus, tokenizer) each.

    split: which documents are held out, if the settings name no corpus for that; if none is given, the newest rule's.
    """
    of_kind("settings", settings, Settings)
    for name, pair in (("corpus", corpus), ("held_out", held_out)):
        if pair is not None and not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], Corpus)):
            raise refusal(name, pair, "a pair: a Corpus and its tokenizer")
    split = Split(settings.training.seed) if split is None else of_kind("split", split, Split)
    seed, recipe, size = settings.training.seed, settings.recipe, settings.training.micro_batch
    (training, tokenizer), (testing, _) = open_corpora(settings.data, corpus, held_out, split)
    config = settings.model
    if "vocab_size" not in settings.given_in("model"):
        config = config.replace(vocab_size=training.vocab_size)
    if config.vocab_size < training.vocab_size:
        raise ConfigError(f"vocab_size is {config.vocab_size}; the corpus has a vocabulary of {training.vocab_size}")
    check_step(settings, config)
    instances = Instances(training, tokenizer, recipe, seed)
    if len(instances) < size:
        raise ConfigError(f"micro_batch is {size}; the corpus has only {len(instances)} instances to train on")
    batch = first_of(Instances(testing, tokenizer, recipe, seed), settings.records.evaluate_instances)
    hashes = {"tokenizer": tokenizer.digest, "data": digest(training), "held-out data": digest(testing)}
    documents = testing.totals()["documents"]
    if held_out or settings.data.held_out:
        tested_on = f"tested on {documents:,} documents of {settings.data.held_out or 'another corpus'}"
    else:
        everything = documents + training.totals()["documents"]
        tested_on = f"tested on {documents:,} of {everything:,} documents, kept from training: {split}"
        if split.rule != OLDEST:                     # which runs of version 0.1.0 did not note
            hashes[SPLIT] = str(split)
    return TrainingData(config, tokenizer, instances, batch, baselines(training, batch), recipe.pairs, hashes,
                        f"{tested_on}; {len(batch.sop_labels):,} instances of them")


def check_step(settings, config):
    """Raise one sentence if not even a step of one micro-batch fits into the machine's memory."""
    training, recipe, itemsize = settings.training, settings.recipe, np.dtype(settings.training.dtype).itemsize
    weights = sum(optimiser_bytes(config, itemsize).values())
    together = examples_together(training.micro_batch, recipe.max_length, config.hidden_size)
    sizes = config, together, recipe.max_length, recipe.max_predictions, itemsize
    activations = activation_bytes(*sizes, recompute=training.recompute)
    check_memory(f"this model's {count(config):,} weights, with gradients and moments, and a micro_batch of "
                 f"{training.micro_batch:,} times {recipe.max_length:,} tokens", weights + activations)


def open_corpora(data, corpus, held_out, split):
    """Return ((corpus, tokenizer) to train on, (corpus, tokenizer) to test on). data: the settings' section."""
    corpus = corpus or opened(data.corpus, "corpus")
    if held_out or data.held_out:
        held_out = held_out or opened(data.held_out, "held_out")
        if held_out[0].tokenizer_digest != corpus[0].tokenizer_digest:
            raise DataError(f"held_out {data.held_out} was made with another tokenizer than corpus {data.corpus}")
        return corpus, held_out
    training, testing = corpus[0].split(data.held_out_share, *split)
    if not testing.shards or not training.shards:
        raise ConfigError(f"held_out_share is {data.held_out_share}, which of {corpus[0].totals()['documents']} "
                          f"documents leaves none to {'train' if testing.shards else 'test'} on; name another share, "
                          "or a corpus with held_out")
    return (training, corpus[1]), (testing, corpus[1])


def opened(directory, name):
    option = f"--{name.replace('_', '-')}"
    if not directory:
        raise ConfigError(f"no {name} is given; it must be a directory that `minalbert data build` made: {option} DIR")
    if not Path(directory).exists():
        raise ConfigError(f"{name} {directory} does not exist, seen from {Path.cwd()}; name another with {option}, or "
                          f"make it: `minalbert data build --tiny-worlds 3000 --out {directory}`")
    corpus = Corpus.open(directory)
    return corpus, corpus.tokenizer()


def first_of(instances, count):
    """A batch of as many instances as there are, up to count, drawn once and for all."""
    places = np.arange(min(count, len(instances)))
    return instances.batch(0, instances_at(places, len(instances), instances.seed, 0))


def digest(corpus):
    totals = corpus.totals()
    name = corpus.manifest["sha256"][:12] if corpus.manifest else "in memory"
    return f"{name}, {totals['documents']:,} documents, {totals['tokens']:,} tokens"
