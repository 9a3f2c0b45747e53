"""Sentences and documents of a large corpus stay in their files: the numbers are those in memory, and memory is not."""

import subprocess
import sys

import numpy as np
import pytest
import small_text

from minalbert.data import offset_file, shards
from minalbert.data.build import build
from minalbert.data.shards import Corpus
from minalbert.data.sources import text_sources

DOCUMENTS, SENTENCES = 1500, 30  # in each document


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A corpus of many short sentences."""
    place = tmp_path_factory.mktemp("many")
    path = small_text.write_lines(place / "text.txt", [[f"w{i % 50}"] * SENTENCES for i in range(DOCUMENTS)])
    return build(text_sources([path], shard_tokens=2**14), small_text.tokenizer(), place / "corpus")


@pytest.fixture
def in_files(built, monkeypatch):
    monkeypatch.setattr(shards, "IN_MEMORY", 0)
    monkeypatch.setattr(offset_file, "OPEN", 2)
    return lambda: Corpus.open(built.directory)


def ranges_of(length):
    """Slices of an array: long and short ones, across ranges, and empty ones."""
    bounds = np.random.default_rng(length).integers(0, length + 1, (12, 2))
    return [*np.sort(bounds, axis=1).tolist(), [0, 0], [0, length], [length, length], [5, 5]]


def test_chosen_offsets_are_those_of_the_chosen_documents(built, in_files):
    split_again = [[part for half in corpus.split(0.3) for part in (half, *half.split(0.5, 1))]
                   for corpus in (built, in_files())]  # fmt: skip
    for expected, found in zip(*split_again, strict=True):
        for one, same in zip(expected.shards, found.shards, strict=True):
            for array, stored in zip(one[1:], same[1:], strict=True):
                np.testing.assert_array_equal(stored, array)
                assert np.asarray(stored).dtype == array.dtype
                for start, stop in ranges_of(len(array)):
                    np.testing.assert_array_equal(stored[start:stop], array[start:stop])
            for array, stored in zip(one[1:3], same[1:3], strict=True):
                places = np.random.default_rng(0).integers(0, len(array), (40, 3))
                np.testing.assert_array_equal(stored.at(places), array[places])
                assert stored.at(places).dtype == np.int64


MEMORY = """
import sys, tracemalloc
import numpy as np
from minalbert.data import Recipe, offset_file, shards
from minalbert.data.instances import Instances
from minalbert.data.shards import Corpus

def opened():
    training, testing = Corpus.open(sys.argv[1]).split(0.02)
    instances = Instances(training, tokenizer, Recipe(max_length=32))
    return instances, testing, instances.batch(0, np.arange(0, len(instances), 97))

shards.IN_MEMORY, offset_file.OPEN = 0, 2
tokenizer = Corpus.open(sys.argv[1]).tokenizer()
opened()
tracemalloc.start()
instances, _, batch = opened()
kept, _ = tracemalloc.get_traced_memory()
print(len(instances.texts.documents), kept - sum(array.nbytes for array in batch))
"""


def test_an_open_corpus_takes_no_memory_for_a_sentence(built):
    """It takes some for a document that is held out and for a shard. In memory, a sentence takes 8 bytes."""
    command = [sys.executable, "-c", MEMORY, str(built.directory)]
    shards_there, kept = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert shards_there > 2
    assert kept < 2 * DOCUMENTS * SENTENCES
