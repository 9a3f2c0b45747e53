"""A saved directory is what was saved: changes are named, and what a model has no use for is written back."""

import json
import os
import stat

import numpy as np
import pytest
import safetensors.numpy
from test_huggingface import TINY, WORD, edit_config, edit_tensors, tiny

from minalbert import Albert
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DamagedError, FileError, MissingFileError, PretrainedError
from minalbert.sealed import seal

FILES = ("config.json", "model.safetensors")


@pytest.fixture
def mine(tmp_path):
    tiny().save_pretrained(tmp_path / "mine")
    return tmp_path / "mine"


def rewritten_elsewhere(directory):
    """As transformers' save_pretrained leaves it: its own files, our hashes of the old ones."""
    edit_config(directory, transformers_version="5.23.0")
    edit_tensors(directory, lambda tensors: tensors.update({WORD: tensors[WORD] + 1}))


# Damage


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_a_changed_bit_is_named(name, share, mine):
    content = bytearray((mine / name).read_bytes())
    content[int(share * len(content))] ^= 1
    (mine / name).write_bytes(content)
    with pytest.raises(DamagedError, match=f"{name} is damaged: .*; restore it from a copy, or remove hashes"):
        Albert.from_pretrained(mine)


def test_a_setting_that_was_edited_is_named_until_the_hashes_are_removed(mine):
    edit_config(mine, hidden_dropout_prob=0.5)
    with pytest.raises(DamagedError, match=r"remove hashes.json if it was changed on purpose"):
        Albert.from_pretrained(mine)
    (mine / "hashes.json").unlink()
    assert Albert.from_pretrained(mine).config.hidden_dropout_prob == 0.5


def test_weights_of_another_directory_are_named(mine, tmp_path):
    other = Albert.init(TINY, seed=5)
    other.save_pretrained(tmp_path / "other")
    (mine / "model.safetensors").write_bytes((tmp_path / "other" / "model.safetensors").read_bytes())
    with pytest.raises(DamagedError, match=r"model.safetensors is damaged"):
        Albert.from_pretrained(mine)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"files": {"config.json": 5}}', b"\xff"])
def test_hashes_that_are_none_are_named(content, mine):
    (mine / "hashes.json").write_bytes(content)
    with pytest.raises(DamagedError, match=r"hashes.json is damaged"):
        Albert.from_pretrained(mine)


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(name, mine):
    (mine / name).unlink()
    os.mkfifo(mine / name)
    with pytest.raises(DamagedError, match=f"{name} is a pipe or a device where a file must be"):
        Albert.from_pretrained(mine)


def test_what_another_program_saved_there_is_read(mine):
    rewritten_elsewhere(mine)
    np.testing.assert_array_equal(
        Albert.from_pretrained(mine).params["embeddings.word"], tiny().params["embeddings.word"] + 1
    )


def test_a_damaged_note_in_the_weights_does_not_turn_the_hashes_off(mine):
    content = (mine / "model.safetensors").read_bytes()
    (mine / "model.safetensors").write_bytes(content.replace(b"written by minalbert", b"written by minalberu"))
    with pytest.raises(DamagedError, match=r"model.safetensors is damaged: its SHA-256"):
        Albert.from_pretrained(mine)


@pytest.mark.parametrize(
    "files",
    [[], {"config.json": 5}, {"config.json": {"size": 5}}, {"config.json": {"size": "5", "sha256": ""}},
     {"config.json": {"size": 5, "sha256": "", "more": 1}}],
    ids=str,
)  # fmt: skip
def test_sealed_hashes_of_another_form_are_named(mine, files):
    (mine / "hashes.json").write_bytes(seal({"files": files}))
    with pytest.raises(DamagedError, match=r"hashes.json is damaged: (its )?files"):
        Albert.from_pretrained(mine)


def test_a_directory_that_is_saved_again_has_new_hashes(mine):
    rewritten_elsewhere(mine)
    model = Albert.from_pretrained(mine)
    model.save_pretrained(mine)
    np.testing.assert_array_equal(Albert.from_pretrained(mine).params.flat, model.params.flat)


def test_weights_that_are_gone_are_missing(mine):
    (mine / "model.safetensors").unlink()
    with pytest.raises((PretrainedError, MissingFileError), match=r"model.safetensors"):
        Albert.from_pretrained(mine)


# Numbers


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_named_by_tensor(number, mine):
    def spoil(tensors):
        tensors["albert.pooler.bias"][2] = number
        tensors["predictions.dense.weight"][1, 1] = number

    edit_tensors(mine, spoil)
    with pytest.raises(
        PretrainedError, match=r"has NaN or infinity in albert.pooler.bias, predictions.dense.weight: no "
    ):
        Albert.from_pretrained(mine)


def test_numbers_that_float16_cannot_hold_are_named(mine):
    edit_tensors(mine, lambda tensors: tensors[WORD].fill(1e6))
    with pytest.raises(PretrainedError, match="float16 cannot hold; rea"):
        Albert.from_pretrained(mine, dtype="float16")


# Round trips

KEPT = {"pad_token_id": 1, "bos_token_id": 5, "eos_token_id": 6, "id2label": {"0": "no", "1": "yes"},
        "classifier_dropout_prob": 0.3, "architectures": ["AlbertForSequenceClassification"]}  # fmt: skip


@pytest.fixture
def classifier(mine):
    """As transformers writes a classifier: other ids, labels, a head that we do not have, a tokenizer."""
    head = {"scorer.weight": np.ones((2, 6), np.float32), "scorer.bias": np.zeros(2, np.float32)}

    def become(tensors):
        for name in [name for name in tensors if not name.startswith("albert.")]:
            del tensors[name]
        tensors.update(head)

    edit_tensors(mine, become)
    edit_config(mine, **KEPT, minalbert=None)
    (mine / "spiece.model").write_bytes(b"a model")
    (mine / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    (mine / "README.md").write_text("# A classifier")
    (mine / "generation_config.json").write_text("{}")
    return mine


@pytest.mark.parametrize(
    "way", [lambda model: model, Albert.copy, lambda model: model.to("cpu")], ids="as_is copy to".split()
)
def test_what_was_read_and_not_understood_is_written_back(way, classifier, tmp_path):
    with pytest.warns(UserWarning, match=r"does not have: scorer.bias, scorer.weight; save_pretrained writes them"):
        model = Albert.from_pretrained(classifier, strict=False)
    way(model).save_pretrained(tmp_path / "again")
    config = json.loads((tmp_path / "again" / "config.json").read_text())
    assert {key: config[key] for key in KEPT} == KEPT
    for name in ("spiece.model", "tokenizer_config.json", "README.md", "generation_config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (classifier / name).read_bytes()
    before, after = (
        safetensors.numpy.load_file(directory / "model.safetensors") for directory in (classifier, tmp_path / "again")
    )
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(before[name], after[name])


def test_a_readme_stays_beside_another_tokenizer_and_may_be_edited(mine, tmp_path):
    (mine / "README.md").write_text("# A model")
    (mine / "spiece.model").write_bytes(b"a model")
    Albert.from_pretrained(mine).save_pretrained(tmp_path / "again", WordTokenizer(["ada"]))
    assert (tmp_path / "again" / "README.md").read_text() == "# A model"
    assert not (tmp_path / "again" / "spiece.model").exists()
    (tmp_path / "again" / "README.md").write_text("# Mine")
    Albert.from_pretrained(tmp_path / "again")


def test_a_model_that_was_not_read_has_the_usual_ids(mine):
    config = json.loads((mine / "config.json").read_text())
    assert [config[f"{name}_token_id"] for name in ("pad", "bos", "eos")] == [0, 2, 3]


def test_all_files_have_the_mode_that_the_umask_gives(tmp_path):
    for umask, mode in ((0o022, 0o644), (0o027, 0o640)):
        before = os.umask(umask)
        try:
            tiny().save_pretrained(tmp_path / str(mode))
        finally:
            os.umask(before)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / str(mode)).iterdir()}
        assert set(modes.values()) == {mode}, modes


def test_what_is_no_file_of_hashes_is_named_before_anything_is_written(tmp_path):
    (tmp_path / "hashes.json").mkdir()
    with pytest.raises(FileError, match=r"hashes.json cannot be removed .*; remove it"):
        tiny().save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["hashes.json"]


def test_a_digest_that_is_no_text_is_named(mine):
    (mine / "hashes.json").unlink()
    edit_config(mine, minalbert={"tokenizer": 5})
    with pytest.raises(PretrainedError, match=r"tokenizer in .*config.json is 5; it must be a text"):
        Albert.from_pretrained(mine)


def test_hashes_in_the_place_of_a_checkpoints_note_are_named(mine, tmp_path):
    place = mine.rename(tmp_path / "step-00000001")
    (place / "hashes.json").rename(place / "state.json")
    with pytest.raises(DamagedError, match="is the checkpoint of step None"):
        Albert.from_pretrained(place)
