"""The files: what is in them, and that no damage to them goes unseen."""

import json
import os
import shutil
from itertools import pairwise

import numpy as np
import pytest
import small_run
import small_text

from minalbert import files
from minalbert.commands import main
from minalbert.data import instances, packing, shards, verified
from minalbert.data.build import build
from minalbert.data.documents import Document
from minalbert.data.manifest import checksum
from minalbert.data.packing import SENTENCES_AT_ONCE, offset_dtype
from minalbert.data.shards import Corpus
from minalbert.data.sources import story_sources, text_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.token_file import TokenFile
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DamagedError, DataError, FileError
from minalbert.files import write_atomically
from minalbert.train import pretrain
from minalbert.train.records import Observer

ENDINGS = ("tok", "sent", "doc", "topic")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("built")
    path = small_text.write_lines(place / "text.txt", small_text.documents())
    corpus = build(text_sources([path], shard_tokens=400), small_text.tokenizer(), place / "corpus")
    assert len(corpus.shards) > 2
    return corpus.directory


@pytest.fixture
def corpus(built, tmp_path):
    """A corpus of several shards on disk."""
    return Corpus.open(shutil.copytree(built, tmp_path / "corpus"))


@pytest.fixture
def large(corpus, monkeypatch):
    """The same, as if it were too large for memory, and some seconds old."""
    monkeypatch.setattr(shards, "IN_MEMORY", 0)
    monkeypatch.setattr(verified, "TICK", -60)
    monkeypatch.setattr(verified, "BETWEEN", -1)
    return corpus


def refused(directory, kind=DamagedError):
    with pytest.raises(kind) as error:
        read_all(Corpus.open(directory))
    assert "\n" not in str(error.value)
    return str(error.value)


def read_all(corpus):
    return [array[:] for shard in corpus.shards for array in shard]


def file_of(corpus, ending, shard=-1):
    return corpus.directory / f"{corpus.manifest['shards'][shard]['name']}.{ending}"


def alter(path, place, change):
    content = bytearray(path.read_bytes())
    content[place] = change(content[place])
    path.write_bytes(content)


def forge(corpus, ending, content, shard=-1):
    """Write another content, and a manifest that says it was built so."""
    path, manifest = file_of(corpus, ending, shard), corpus.manifest
    manifest["shards"][shard]["sha256"][ending] = write_atomically(path, content)
    text = json.dumps({**manifest, "sha256": checksum(manifest)})
    (corpus.directory / "manifest.json").write_text(text, encoding="utf-8")


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


def test_what_was_built_is_opened(corpus):
    reopened = Corpus.open(corpus.directory)
    assert not any(array.flags.writeable for shard in reopened.shards for array in shard)
    assert reopened.totals() == corpus.manifest["totals"]
    assert not (corpus.directory / "verified.json").exists()


def test_a_large_corpus_stays_in_its_files(large):
    reopened = Corpus.open(large.directory)
    for shard, before in zip(reopened.shards, large.shards, strict=True):
        assert isinstance(shard.tokens, TokenFile)
        for array, same in zip(shard, before, strict=True):
            assert len(array) == len(same)
            np.testing.assert_array_equal(array, same)
            assert np.asarray(array).dtype == same.dtype
        assert shard.tokens[3:8].tolist() == before.tokens[3:8].tolist()
        assert shard.tokens.nbytes == before.tokens.nbytes
        np.testing.assert_array_equal(np.bincount(shard.tokens), np.bincount(before.tokens))
    assert reopened.totals() == large.manifest["totals"]


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
    assert "build it again with `minalbert data build`" in sentence
    if damage == "cut":
        assert f"it has {len(content) - 1:,} bytes, and had {len(content):,}" in sentence


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("place", [0, -1])
def test_one_changed_bit_is_found_at_opening(corpus, ending, place):
    path = file_of(corpus, ending)
    alter(path, place, lambda byte: byte ^ 1)
    assert f"{path} is damaged: its SHA-256 is" in refused(corpus.directory)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("place", [0, -1])
def test_one_changed_bit_of_a_large_corpus_is_found_at_first_use(large, ending, place):
    path = file_of(large, ending)
    alter(path, place, lambda byte: byte ^ 1)
    assert path.name in refused(large.directory)
    with pytest.raises(DamagedError, match=path.name):
        Corpus.open(large.directory, verify=True)


def test_what_was_verified_is_remembered_until_it_changes(large, monkeypatch):
    read_all(Corpus.open(large.directory))
    hashed = []
    whole = files.verify
    monkeypatch.setattr(files, "verify", lambda path, *rest: (hashed.append(path.name), whole(path, *rest)))
    read_all(Corpus.open(large.directory))
    assert hashed == []
    path = file_of(large, "tok", 1)
    before = path.stat()
    path.write_bytes(path.read_bytes())  # the same size, inode and content
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    read_all(Corpus.open(large.directory))
    assert hashed == [path.name]
    Corpus.open(large.directory, verify=True)
    assert hashed[1:] == [f"{shard['name']}.{ending}" for shard in large.manifest["shards"] for ending in ENDINGS]


def test_what_was_changed_just_now_is_not_remembered(large, monkeypatch):
    monkeypatch.setattr(verified, "TICK", 60)
    read_all(Corpus.open(large.directory))
    assert not (large.directory / "verified.json").exists()


@pytest.mark.parametrize("content", [b"", b"[", b"5", b"{}", b'{"shard-000000.tok": 7}', b"[" * 100_000])
def test_a_damaged_list_of_verified_files_is_no_matter(large, content):
    (large.directory / "verified.json").write_bytes(content)
    read_all(Corpus.open(large.directory))
    assert len(json.loads((large.directory / "verified.json").read_bytes())) >= len(large.shards)
    alter(file_of(large, "tok"), 0, lambda byte: byte ^ 1)
    refused(large.directory)


def test_where_nothing_can_be_written_nothing_is_remembered(large, monkeypatch):
    def full(*_):
        raise FileError("no space left")

    monkeypatch.setattr(files, "write_atomically", full)
    read_all(Corpus.open(large.directory))
    assert not (large.directory / "verified.json").exists()


def test_a_large_shard_that_is_cut_off_after_opening_is_one_sentence(large):
    opened = Corpus.open(large.directory)
    read_all(opened)
    path = file_of(large, "tok", 1)
    os.truncate(path, 0)
    with pytest.raises(DamagedError, match=f"{path.name} was cut off while it was read: it ends at byte 0; build it"):
        read_all(opened)


@pytest.mark.parametrize("memory", [0, 2**28])
def test_an_id_beyond_the_vocabulary_is_named(corpus, monkeypatch, memory):
    monkeypatch.setattr(shards, "IN_MEMORY", memory)
    tokens = corpus.shards[-1].tokens.copy()
    tokens[7] = 65
    forge(corpus, "tok", tokens.tobytes())
    assert "holds the id 65; the vocabulary has 65 pieces; build it again" in refused(corpus.directory)


@pytest.mark.parametrize("memory", [0, 2**28])
@pytest.mark.parametrize("block", [8, 2**20])
@pytest.mark.parametrize("ending", ["sent", "doc"])
@pytest.mark.parametrize(("place", "value"), [(0, 1), (1, 0), (2, 10**6), (-1, 0), (-1, 10**6)])
def test_offsets_that_do_not_ascend_are_named(corpus, monkeypatch, memory, block, ending, place, value):
    monkeypatch.setattr(shards, "IN_MEMORY", memory)
    monkeypatch.setattr(files, "BLOCK", block)
    offsets = getattr(corpus.shards[-1], {"sent": "sentences", "doc": "documents"}[ending]).copy()
    offsets[place] = value
    forge(corpus, ending, offsets.tobytes())
    sentence = refused(corpus.directory)
    assert f".{ending} does not hold what it must: numbers that ascend from 0 to" in sentence


def test_a_directory_without_a_manifest_is_no_corpus(corpus, tmp_path):
    assert "no corpus" in refused(tmp_path / "nothing", DataError)
    (corpus.directory / "manifest.json").unlink()
    assert "did not finish" in refused(corpus.directory, DataError)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("\0", "is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ("[]", "holds a list"),
        ("{}", "is not a manifest that"),
        ('{"format": 1}', "is not a manifest that"),
    ],
)
def test_a_manifest_of_others_is_refused(corpus, content, words):
    (corpus.directory / "manifest.json").write_text(content, encoding="utf-8")
    sentence = refused(corpus.directory)
    assert words in sentence
    assert "build it again" in sentence


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocab_size", "65"), ("vocab_size", -1), ("tokenizer", "../tokenizer.json"), ("tokenizer_digest", None),
        ("settings", []), ("shards", []), ("shards", [5]), ("shards", None), ("shards", [{"name": "shard-000000"}]),
        ("shards", "twice"),
    ],
)  # fmt: skip
def test_a_manifest_with_a_checksum_that_describes_no_corpus_is_refused(corpus, key, value):
    if value == "twice":
        value = 2 * corpus.manifest["shards"][:1]
    manifest = {**corpus.manifest, key: value}
    text = json.dumps({**manifest, "sha256": checksum(manifest)})
    (corpus.directory / "manifest.json").write_text(text, encoding="utf-8")
    assert "manifest.json does not describe a corpus; build it again" in refused(corpus.directory)


@pytest.mark.parametrize("name", ["shard\0", "shard\ud800"])
def test_a_name_that_no_file_has_describes_no_corpus(corpus, name):
    first, *others = corpus.manifest["shards"]
    manifest = {**corpus.manifest, "shards": [{**first, "name": name}, *others]}
    text = json.dumps({**manifest, "sha256": checksum(manifest)})
    (corpus.directory / "manifest.json").write_text(text, encoding="utf-8")
    assert "manifest.json does not describe a corpus; build it again" in refused(corpus.directory)


def test_an_altered_manifest_is_refused(corpus):
    path = corpus.directory / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["shards"].pop()
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert "is damaged: its checksum is not that of its content" in refused(corpus.directory)

    manifest["format"] = 2
    path.write_text(json.dumps({**manifest, "sha256": checksum(manifest)}), encoding="utf-8")
    assert "format 2" in refused(corpus.directory, DataError)


def test_another_tokenizer_is_refused(corpus):
    other = WordTokenizer([*small_text.WORDS, "more"])
    with pytest.raises(DataError, match=r"66 pieces.*is not the one.*65 pieces"):
        corpus.check_tokenizer(other)
    assert corpus.tokenizer().digest == small_text.tokenizer().digest
    other.save(corpus.directory / "tokenizer.json")
    with pytest.raises(DamagedError, match=r"tokenizer\.json is damaged: .* is not the one .*; build it again"):
        corpus.tokenizer()


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\n", b"[" * 100_000])
def test_a_damaged_tokenizer_of_a_corpus_is_named_with_the_way_on(corpus, content):
    path = corpus.directory / "tokenizer.json"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"tokenizer\.json.*; build it again with `minalbert data build`") as error:
        corpus.tokenizer()
    assert str(error.value).count("build it again") == 1


@pytest.mark.parametrize("documents", [[], [Document([])], [Document(["", " "])]])
def test_an_empty_corpus_is_refused(documents):
    with pytest.raises(DataError, match="the corpus is empty"):
        Corpus.from_documents(documents, small_text.tokenizer())


def test_a_large_shard_that_is_cut_off_in_mid_run_ends_it_with_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(shards, "IN_MEMORY", 0)
    monkeypatch.setattr(instances, "ROWS_AT_ONCE", 16)
    monkeypatch.chdir(tmp_path)
    worlds = TinyWorlds(seed=1)
    tokenizer = WordTokenizer(worlds.words())
    build(story_sources(worlds, 40, 20), tokenizer, "corpus")
    settings = small_run.small_settings(corpus="corpus", steps=12, every=2, log_every=1)
    path, observer = tmp_path / "corpus" / "shard-000001.tok", Observer()
    content = path.read_bytes()
    observer.step = lambda step, *_: os.truncate(path, 100) if step == 5 else None
    with pytest.raises(DamagedError, match=r"shard-000001\.tok was cut off while it was read: .*; build it again"):
        pretrain(settings, "run", observer=observer)
    assert main(["pretrain", "run"]) == 2
    assert "shard-000001.tok has 100 bytes" in capsys.readouterr().err
    path.write_bytes(content)
    pretrain(settings, "run")
    pretrain(settings, "whole")
    assert small_run.computed("run")["hash"] == small_run.computed("whole")["hash"]
