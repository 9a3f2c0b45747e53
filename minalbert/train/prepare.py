"""From settings to what a run needs: data to train on, data to test on, and what to compare with."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.instances import Instances
from ..data.order import instances_at
from ..data.shards import Corpus
from ..errors import ConfigError, DataError
from .evaluate import Baselines, baselines


class Prepared(NamedTuple):
    config: Any                                      # AlbertConfig, with the corpus's vocabulary
    tokenizer: Any
    instances: Instances
    held_out: Any                                    # a Batch, always the same
    baselines: Baselines
    hashes: dict                                     # of tokenizer and data


def prepare(settings, corpus=None, held_out=None):
    """Corpora are opened from the directories in the settings, unless they are given (then with their tokenizer:
    a pair (corpus, tokenizer) each)."""
    (training, tokenizer), (testing, _) = open_corpora(settings, corpus, held_out)
    config = settings.model
    if "vocab_size" not in settings.said("model"):
        config = config.replace(vocab_size=training.vocab_size)
    if config.vocab_size < training.vocab_size:
        raise ConfigError(f"vocab_size is {config.vocab_size}; the corpus has a vocabulary of {training.vocab_size}")
    seed = settings.training.seed
    instances = Instances(training, tokenizer, settings.recipe, seed)
    if len(instances) < settings.training.micro_batch:
        size = settings.training.micro_batch
        raise ConfigError(f"micro_batch is {size}; the corpus has only {len(instances)} instances to train on")
    batch = first_of(Instances(testing, tokenizer, settings.recipe, seed), settings.records.evaluate_instances)
    hashes = {"tokenizer": tokenizer.digest, "data": digest(training), "held-out data": digest(testing)}
    return Prepared(config, tokenizer, instances, batch, baselines(training, batch), hashes)


def open_corpora(settings, corpus, held_out):
    """((corpus, tokenizer) to train on, (corpus, tokenizer) to test on)"""
    data = settings.data
    corpus = corpus or opened(data.corpus, "corpus")
    if held_out or data.held_out:
        held_out = held_out or opened(data.held_out, "held_out")
        if held_out[0].tokenizer_digest != corpus[0].tokenizer_digest:
            raise DataError(f"held_out {data.held_out} was made with another tokenizer than corpus {data.corpus}")
        return corpus, held_out
    training, testing = corpus[0].split(data.held_out_share)
    if not testing.shards or not training.shards:
        raise ConfigError(
            f"held_out_share is {data.held_out_share}, which of {corpus[0].totals()['documents']} documents leaves "
            f"none to {'train' if testing.shards else 'test'} on; name another share, or a corpus with held_out"
        )
    return (training, corpus[1]), (testing, corpus[1])


def opened(directory, name):
    if not directory:
        raise ConfigError(f"{name} is not said; it must be a directory that `minalbert data build` made: --{name} DIR")
    if not Path(directory).exists():
        raise ConfigError(f"{name} {directory} is not there, looked for from {Path.cwd()}; name it with --{name}")
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
