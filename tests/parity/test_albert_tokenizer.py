"""Ours and `transformers`' AlbertTokenizer on the same model, which the test trains.

Theirs differ in what the tests set, avoid or show: they write `` and '' as ", leave "000," in one piece, take a typed
[MASK] for the real one, and cut at ALBERT's signs ( ) " - . – £ € before anything else, so that ▁ follows a sign.
"""

import re
import runpy
from pathlib import Path

import pytest

transformers = pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")
pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install 'minalbert[train]')")
pytest.importorskip("google.protobuf", reason="transformers reads spiece.model with protobuf (pip install protobuf)")

from minalbert.data import sentencepiece_training  # noqa: E402
from minalbert.data.normalise import Normaliser  # noqa: E402
from minalbert.data.sentencepiece_tokenizer import SentencePieceTokenizer  # noqa: E402

english = runpy.run_path(str(Path(__file__).parents[1] / "test_tokenizer.py"))["english"]


@pytest.fixture(scope="module")
def model():
    """As sentencepiece leaves it: ALBERT's signs are pieces of a kind of their own, as in the released models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentencepiece_training, "with_round_scores", lambda model: model)
        return sentencepiece_training.train(english(1500), 240, digit_commas="off").model


@pytest.fixture(scope="module")
def theirs(model, tmp_path_factory):
    directory = tmp_path_factory.mktemp("albert")
    (directory / "spiece.model").write_bytes(model)
    return transformers.AlbertTokenizer.from_pretrained(directory)


@pytest.fixture(scope="module")
def ours(model):
    return SentencePieceTokenizer(model, Normaliser(quotes=True), digit_commas="off")


TEXTS = [
    *(re.sub("[(£]", "", text) for text in english(300, seed=1)),
    "``Quoted'' “so”, it's",
    "Élan naïve ÅNGSTRÖM İstanbul",
    "ﬁn ½ ™ ①",
    "  two  spaces\tand\na line ",
    "walk) talk. “So” 5€ 6 x",
    "日本 ΟΔΟΣ ß",
]


@pytest.mark.parametrize("text", TEXTS[-6:], ids=ascii)
def test_ids_of_hard_texts_are_theirs(ours, theirs, text):
    assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]


def test_ids_are_theirs(ours, theirs):
    assert ours.encode_many(TEXTS) == theirs(TEXTS, add_special_tokens=False)["input_ids"]
    assert len(theirs) == ours.vocab_size


def test_special_ids_are_theirs(ours, theirs):
    names = ("pad", "unk", "cls", "sep", "mask")
    assert [getattr(theirs, f"{name}_token_id") for name in names] == [0, 1, 2, 3, 4]
    assert theirs("", add_special_tokens=True)["input_ids"] == [2, 3]
    assert theirs.convert_ids_to_tokens(list(range(5))) == ours.pieces[:5]


def test_a_typed_mask_is_theirs_but_not_ours(ours, theirs):
    assert 4 in theirs("[MASK]", add_special_tokens=False)["input_ids"]
    assert 4 not in ours.encode("[MASK]")


def test_a_sign_where_a_word_begins_is_another_difference(ours, theirs):
    assert [ours.pieces[i] for i in ours.encode("(the")][:2] == ["▁", "("]
    assert theirs("(the", add_special_tokens=False)["input_ids"] == [5, *ours.encode("the")]
