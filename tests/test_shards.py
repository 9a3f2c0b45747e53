"""The files: what is in them, and that no damage to them goes unseen."""

import json
from itertools import pairwise

import numpy as np
import pytest
import small_text

from minalbert.data import packing
from minalbert.data.build import build
from minalbert.data.documents import Document
from minalbert.data.packing import SENTENCES_AT_ONCE, offset_dtype
from minalbert.data.shards import Corpus, checksum, verify
from minalbert.data.sources import text_sources
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DataError

ENDINGS = ("tok", "sent", "doc", "topic")


@pytest.fixture
def corpus(tmp_path):
    """A corpus of several shards on disk."""
    path = small_text.write_lines(tmp_path / "text.txt", small_text.documents())
    corpus = build(text_sources([path], shard_tokens=400), small_text.tokenizer(), tmp_path / "corpus")
    assert len(corpus.shards) > 2
    return corpus


def refused(directory, verify=False):
    with pytest.raises(DataError) as error:
        Corpus.open(directory, verify)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_arrays_say_where_sentences_and_documents_begin():
    documents = [
        Document(["w1 w2 w3", "", "w4"], topic=7),
        Document(["", "  "]),  # leaves no trace
        Document([]),
        Document(["w5 w6"]),
    ]
    corpus = Corpus.from_documents(documents, small_text.tokenizer())
    (shard,) = corpus.shards
    assert shard.tokens.tolist() == [6, 7, 8, 9, 10, 11]
    assert shard.sentences.tolist() == [0, 3, 4, 6]
    assert shard.documents.tolist() == [0, 2, 3]
    assert shard.topics.tolist() == [7, -1]
    assert corpus.totals() == {"documents": 2, "sentences": 3, "tokens": 6}
    assert [array.dtype.name for array in shard] == ["uint16", "uint32", "uint32", "int32"]


def test_a_document_of_more_sentences_than_are_encoded_at_once():
    long = [f"w{i % 60} w{i % 7}" for i in range(2 * SENTENCES_AT_ONCE + 3)]
    shard = Corpus.from_documents([Document(long), Document(["w1"])], small_text.tokenizer()).shards[0]
    assert shard.documents.tolist() == [0, len(long), len(long) + 1]
    assert shard.sentences.tolist() == [*range(0, 2 * len(long) + 1, 2), 2 * len(long) + 1]


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 50])
def test_how_many_sentences_are_encoded_at_once_changes_nothing(monkeypatch, at_once):
    texts = [*small_text.documents(30), [], [""], ["", "w1"], *small_text.documents(9, seed=1)]
    documents = [Document(text, topic=number) for number, text in enumerate(texts)]
    whole = Corpus.from_documents(documents, small_text.tokenizer()).shards[0]
    monkeypatch.setattr(packing, "SENTENCES_AT_ONCE", at_once)
    parts = Corpus.from_documents(documents, small_text.tokenizer()).shards[0]
    for array, same in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(array, same)
    assert whole.topics.tolist() == [number for number, text in enumerate(texts) if any(text)]


@pytest.mark.parametrize(("pieces", "dtype"), [(65_535, "uint16"), (65_536, "uint32")])
def test_large_vocabularies_take_four_bytes(tmp_path, pieces, dtype):
    tokenizer = WordTokenizer([f"w{i}" for i in range(pieces - 5)])
    path = small_text.write_lines(tmp_path / "text.txt", [[f"w0 w{pieces - 6}"]])
    corpus = build(text_sources([path]), tokenizer, tmp_path / "corpus")
    assert corpus.shards[0].tokens.tolist() == [5, pieces - 1]
    assert corpus.shards[0].tokens.dtype.name == corpus.manifest["token_dtype"] == dtype


def test_offsets_past_four_billion_take_eight_bytes():
    assert offset_dtype(2**32 - 1) == np.uint32
    assert offset_dtype(2**32) == np.uint64


def test_what_was_built_is_mapped_not_read(corpus):
    reopened = Corpus.open(corpus.directory)
    for shard in reopened.shards:
        for array in shard:
            assert isinstance(array.base, np.memmap)
            assert not array.flags.writeable
    assert reopened.totals() == corpus.manifest["totals"]
    assert verify(corpus.directory).totals() == corpus.totals()


def test_documents_are_what_the_text_says(corpus):
    found = []
    for shard in corpus.shards:
        for start, end in zip(shard.documents[:-1], shard.documents[1:], strict=True):
            bounds = shard.sentences[start : end + 1]
            found.append([small_text.tokenizer().decode(shard.tokens[a:b]) for a, b in pairwise(bounds)])
    assert found == small_text.documents()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("damage", ["cut", "longer", "empty", "missing"])
def test_damage_to_a_files_size_is_always_found(corpus, ending, damage):
    name = corpus.manifest["shards"][1]["name"]
    path = corpus.directory / f"{name}.{ending}"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"cut": content[:-1], "longer": content + b"\0", "empty": b""}[damage])
    sentence = refused(corpus.directory)
    assert path.name in sentence
    assert "build" in sentence
    if damage == "cut":
        assert f"{len(content) - 1:,} bytes" in sentence
        assert f"{len(content):,}" in sentence


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("place", [0, -1])
def test_one_changed_bit_is_found_by_verify(corpus, ending, place):
    path = corpus.directory / f"{corpus.manifest['shards'][-1]['name']}.{ending}"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    Corpus.open(corpus.directory)
    assert path.name in refused(corpus.directory, verify=True)


def test_a_directory_without_a_manifest_is_no_corpus(corpus, tmp_path):
    assert "no corpus" in refused(tmp_path / "nothing")
    (corpus.directory / "manifest.json").unlink()
    assert "did not finish" in refused(corpus.directory)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": 1}', "\0"])
def test_a_manifest_of_others_is_refused(corpus, content):
    (corpus.directory / "manifest.json").write_text(content, encoding="utf-8")
    assert "is not a manifest" in refused(corpus.directory)


def test_an_altered_manifest_is_refused(corpus):
    path = corpus.directory / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["shards"].pop()
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert "was altered" in refused(corpus.directory)

    manifest["format"] = 2
    path.write_text(json.dumps({**manifest, "sha256": checksum(manifest)}), encoding="utf-8")
    assert "format 2" in refused(corpus.directory)


def test_another_tokenizer_is_refused(corpus):
    other = WordTokenizer([*small_text.WORDS, "more"])
    with pytest.raises(DataError, match=r"66 pieces.*is not the one.*65 pieces"):
        corpus.check_tokenizer(other)
    assert corpus.tokenizer().digest == small_text.tokenizer().digest
    other.save(corpus.directory / "tokenizer.json")
    with pytest.raises(DataError, match="is not the one"):
        corpus.tokenizer()


@pytest.mark.parametrize("documents", [[], [Document([])], [Document(["", " "])]])
def test_an_empty_corpus_is_refused(documents):
    with pytest.raises(DataError, match="the corpus is empty"):
        Corpus.from_documents(documents, small_text.tokenizer())
