"""The chunk table, a part for each shard: the instances of the one table that was there before, and no more memory."""

import dataclasses
import json
import shutil
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import small_text
from random_corpora import corpus_of, story_lengths
from test_instances import POLICIES, SHORT, same, whole_epoch

from minalbert.data import Recipe, chunk_files, chunks, shards
from minalbert.data.build import build
from minalbert.data.instances import Instances
from minalbert.data.shards import Corpus
from minalbert.data.sources import text_sources
from minalbert.errors import DamagedError

STORIES = story_lengths(60, mean=9)


class OldTable:
    """One array for each column, of all shards together, as it was until the second edition."""

    def __init__(self, texts, recipe, seed):
        rows = []
        for shard, documents in enumerate(texts.documents):
            numbers = np.arange(texts.first_document[shard], texts.first_document[shard + 1])
            sampled = chunks._sample(numbers, texts.sentences[shard], documents, recipe, seed)
            for place, (start, stop) in enumerate(zip(documents[:-1].tolist(), documents[1:].tolist(), strict=True)):
                for first, last, *rest in chunks._chunks(sampled.of(place, start, stop), recipe):
                    rows.append((numbers[place], start + first, start + last, *rest))
        self.columns = np.array(rows, np.int64).T

    def rows(self, numbers):
        found = self.columns[:, numbers]
        return chunks.ChunkRows(*found[:5], found[5].astype(bool))


def check_old(instances, texts):
    """Compare with the old table: every row, and every batch of two epochs."""
    old = OldTable(texts, instances.recipe, instances.seed)
    every = np.arange(len(instances))
    assert len(every) == old.columns.shape[1]
    pairs = zip(instances.table.rows(every), old.rows(every), strict=True)
    assert all(np.array_equal(*columns) for columns in pairs)
    now = [whole_epoch(instances, epoch) for epoch in range(2)]
    instances.pairs.table = old
    assert all(same(one, whole_epoch(instances, epoch)) for epoch, one in enumerate(now))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("count", [1, 3])
def test_instances_are_those_of_one_table(policy, count):
    corpus, tokenizer, _ = corpus_of(STORIES, shards=count)
    instances = Instances(corpus, tokenizer, POLICIES[policy], seed=3)
    check_old(instances, instances.texts)


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A corpus that counts as a large one."""
    path = small_text.write_lines(tmp_path / "text.txt", small_text.documents(fewest=2))
    build(text_sources([path], shard_tokens=400), small_text.tokenizer(), tmp_path / "corpus")
    monkeypatch.setattr(shards, "IN_MEMORY", 0)
    monkeypatch.setattr(chunk_files, "OPEN", 2)
    return tmp_path / "corpus"


@pytest.mark.parametrize("policy", ["clean", "released nsp"])
@pytest.mark.parametrize("side", [None, 0, 1])
def test_files_hold_the_same_table_when_they_are_made_and_when_they_are_opened(large, policy, side, monkeypatch):
    def corpus():
        whole = Corpus.open(large)
        return whole if side is None else whole.split(0.4)[side]

    recipe, tokenizer = POLICIES[policy], Corpus.open(large).tokenizer()
    made = Instances(corpus(), tokenizer, recipe, 3)
    assert len(corpus().shards) > 2
    check_old(made, in_memory(made.texts))
    monkeypatch.setattr(chunks, "_chunks", None)  # nothing is made again
    assert same(whole_epoch(Instances(corpus(), tokenizer, recipe, 3)), whole_epoch(made))
    assert len(list(large.glob("chunks-*"))) == 1


def in_memory(texts):
    return SimpleNamespace(documents=[np.asarray(one) for one in texts.documents],
                           sentences=[np.asarray(one) for one in texts.sentences],
                           first_document=texts.first_document)  # fmt: skip


def test_another_table_is_in_another_directory(large):
    whole = Corpus.open(large)
    base = Recipe(**SHORT)
    variants = [base, base.replace(max_length=41), base.replace(pairs="none"), base.replace(short_fraction=0.3),
                Recipe.released(**SHORT)]  # fmt: skip
    names = [chunk_files.chunk_files(whole, recipe, seed).directory for recipe in variants for seed in (0, 1)]
    names += [chunk_files.chunk_files(part, base, 0).directory for seed in (0, 1) for part in whole.split(0.4, seed)]
    same_sizes = [dataclasses.replace(whole, chosen=part.chosen) for seed in (0, 1) for part in whole.split(0.4, seed)]
    names += [chunk_files.chunk_files(one, base, 0).directory for one in same_sizes]
    assert len(set(names)) == len(names)
    masks = chunk_files.chunk_files(whole, base.replace(mask_fraction=0.3, max_ngram=1), 0)
    assert masks.directory == names[0]


def files_of(large):
    tokenizer = Corpus.open(large).tokenizer()
    right = whole_epoch(Instances(Corpus.open(large), tokenizer, Recipe(**SHORT)))
    (directory,) = large.glob("chunks-*")
    return directory, lambda: whole_epoch(Instances(Corpus.open(large), tokenizer, Recipe(**SHORT))), right


def test_a_damaged_table_is_refused(large):
    directory, open_again, _ = files_of(large)
    path = directory / "000001.rows"
    content = bytearray(path.read_bytes())
    content[4] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"000001\.rows is damaged.*"):
        open_again()


@pytest.mark.parametrize("content", [b"", b"{}", b'{"tables": 3, "sha256": "x"}', None])
def test_a_list_that_is_not_whole_is_made_again(large, content):
    directory, open_again, right = files_of(large)
    if content is None:
        shutil.rmtree(directory)
    else:
        (directory / "tables.json").write_bytes(content)
    assert same(open_again(), right)


def test_what_was_made_before_a_kill_is_kept(large, monkeypatch):
    directory, open_again, right = files_of(large)
    table = json.loads((directory / "tables.json").read_text())
    table["tables"] = table["tables"][:2]
    table["sha256"] = chunk_files.files.checksum(table)
    (directory / "tables.json").write_text(json.dumps(table))
    made, shard_table = [], chunks.shard_table
    monkeypatch.setattr(chunks, "shard_table", lambda *given: made.append(given[-1]) or shard_table(*given))
    assert same(open_again(), right)
    assert made == list(range(2, len(Corpus.open(large).shards)))


def test_where_nothing_can_be_written_tables_stay_in_memory(large, monkeypatch):
    _, open_again, right = files_of(large)
    shutil.rmtree(next(large.glob("chunks-*")))

    def full(path, data):
        raise chunk_files.FileError("no room")

    monkeypatch.setattr(chunk_files.files, "write_atomically", full)
    assert same(open_again(), right)
    assert not list(large.glob("chunks-*/*"))


def test_ten_billion_instances_take_memory_for_each_shard_alone():
    """A hundred thousand shards, of a hundred thousand chunks each, which are all the same arrays."""
    many = 100_000
    table = chunks.ShardTable(np.zeros((many, 6), np.uint32), 0)
    tracemalloc.start()
    large = chunks.ChunkTable([table] * many, 1000 * np.arange(many + 1))
    rows = large.rows(np.array([0, 10**9, 10**10 - 1]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(large) == 10**10
    assert rows.document.tolist() == [0, 1000 * 10**4, 1000 * (10**5 - 1)]
    assert peak < 100 * many
