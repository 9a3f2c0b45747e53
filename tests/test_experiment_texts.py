"""Real text for `minalbert reproduce`: which documents are trained on, and which ones judge."""

import json

import pytest

from minalbert import commands
from minalbert.data import Corpus, TinyWorlds
from minalbert.errors import DataError
from minalbert.experiments import cells, pair_loss, running, tables
from minalbert.experiments.texts import RealText, prepare, texts_of
from minalbert.experiments.worlds import JUDGED, PROBED, corpus_of

pytest.importorskip("sentencepiece", reason="the vocabulary of a text is trained by sentencepiece")
QUICK = {"steps": 2, "batch": 4, "micro_batch": 4, "evaluate_every": 2, "every": 2, "evaluate_instances": 20}


def folder_of(place, documents, seed=0):
    """A folder with stories, a sentence a line."""
    place.mkdir()
    stories = TinyWorlds(seed=seed).documents(0, documents)
    (place / "stories.txt").write_text("\n\n".join("\n".join(story.sentences) for story in stories), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A place with the text of 80 stories in it."""
    place = tmp_path_factory.mktemp("place")
    prepare(place, folder_of(place / "folder", 80), "lines")
    return place


def sentences(corpus):
    tokenizer = corpus.tokenizer()
    for shard in corpus.shards:
        for start, stop in zip(shard.sentences[:-1], shard.sentences[1:], strict=True):
            yield tokenizer.decode(shard.tokens[start:stop])


def test_a_document_is_trained_on_or_judges_or_is_probed(place):
    texts = texts_of(place)
    corpora = {seed: Corpus.open(corpus_of(place, RealText(texts.digest, texts.pieces, seed), 0))
               for seed in (100, JUDGED, PROBED)}  # fmt: skip
    assert [corpus.totals()["documents"] for corpus in corpora.values()] == [60, 10, 10]
    told = [story.sentences for story in TinyWorlds().documents(0, 80)]
    assert set(sentences(corpora[JUDGED])) <= {sentence for story in told[::8] for sentence in story}
    assert set(sentences(corpora[PROBED])) <= {sentence for story in told[1::8] for sentence in story}
    assert len({corpus.tokenizer_digest for corpus in corpora.values()}) == 1


def test_a_result_is_that_of_its_text(place, tmp_path):
    other = prepare(tmp_path, folder_of(tmp_path / "folder", 80, seed=1), "lines")
    first, second = (cells.cells_of(tables.open_table("real_text", where))[0].key["worlds"]
                     for where in (place, tmp_path))  # fmt: skip
    assert first["text"] != second["text"] == other.digest
    assert first["seed"] == second["seed"] == cells.FIRST_SEED
    novels = cells.cells_of(tables.open_table("real_text"))[0].key["worlds"]
    assert novels["text"] not in (first["text"], second["text"])


def test_the_command_reads_a_folder_once_and_goes_on_without_it(tmp_path, monkeypatch, capsys):
    table = tables.TABLES["real_text"]
    monkeypatch.setitem(tables.TABLES, "real_text", table._replace(quick=QUICK))
    monkeypatch.setattr(pair_loss, "INSTANCES", 20)
    folder, out = folder_of(tmp_path / "folder", 80), tmp_path / "out"
    words = ["reproduce", "run", "real_text", "--quick", "--jobs", "1", "--json", "--out", str(out)]
    assert commands.main([*words, "--text", str(folder), "--layout", "lines"]) == 0
    lines = json.loads(capsys.readouterr().out)["real_text"]
    assert [line["arm"] for line in lines] == ["none", "NSP", "SOP"]
    assert all(line["worlds"]["text"] == texts_of(out).digest for line in lines)
    assert {"gain", "mlm", "nsp", "sop"} <= lines[2]["scores"].keys()
    monkeypatch.setattr(running, "pretrain", None)
    assert commands.main(words) == 0
    assert json.loads(capsys.readouterr().out)["real_text"] == lines


def test_without_text_or_with_too_little_there_is_one_sentence(tmp_path, capsys):
    assert commands.main(["reproduce", "run", "real_text", "--out", str(tmp_path)]) == 2
    found = capsys.readouterr().err
    assert "--text FOLDER" in found
    assert found.count("\n") == 1
    with pytest.raises(DataError, match="has 23 documents; it must have 24"):
        prepare(tmp_path, folder_of(tmp_path / "folder", 23), "lines")
