"""A saved directory's tokenizer files: ours are read back; tests/parity/test_tokens.py holds theirs against ours."""

import json
import struct

import numpy as np
import pytest

from minalbert import PRESETS, Albert
from minalbert.data.tokenizers import load_tokenizer
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DataError
from minalbert.train.trained import open_trained

WORDS = WordTokenizer(["ada", "met", "olga", "."])


def saved(directory, tokenizer):
    Albert.init(PRESETS["tiny"].replace(vocab_size=tokenizer.vocab_size)).save_pretrained(directory, tokenizer)
    return directory


def test_a_word_list_is_read_back_from_their_file(tmp_path):
    found = open_trained(saved(tmp_path, WORDS)).tokenizer
    assert (found.digest, found.pieces) == (WORDS.digest, WORDS.pieces)


def test_a_tokenizer_json_of_others_is_not_taken_for_a_word_list(tmp_path):
    path = saved(tmp_path, WORDS) / "tokenizer.json"
    content = json.loads(path.read_text())
    content["normalizer"] = {"type": "Lowercase"}
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match="is no word list that minalbert wrote"):
        load_tokenizer(path)


@pytest.fixture(scope="module")
def trained():
    pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install 'minalbert[train]')")
    from test_tokenizer import english

    from minalbert.data.sentencepiece_training import train

    text = [*english(1500), *(f"{i},0{j}{i % 10}, and" for i in range(300) for j in range(10))]
    return train(text, 300), train(text, 300, digit_commas="off")


def test_a_sentencepiece_model_is_read_back_with_its_rules(trained, tmp_path):
    found = open_trained(saved(tmp_path, trained[0])).tokenizer
    assert found.digest == trained[0].digest
    names = {path.name for path in tmp_path.iterdir()}
    assert {"tokenizer.model", "tokenizer.recipe.json", "tokenizer.json", "tokenizer_config.json"} <= names


def test_no_piece_is_learnt_that_would_be_taken_apart(trained):
    intended, off = trained
    assert not intended.taken_apart
    assert any(piece[-1] == "," and piece[-2:-1].isdigit() for piece in off.pieces)


def test_a_vocabulary_that_tokenizer_json_cannot_say_is_a_warning(trained, tmp_path):
    from minalbert.data.sentencepiece_tokenizer import SentencePieceTokenizer

    with pytest.warns(
        UserWarning, match=r"of the pieces join a digit and a comma, such as .* AutoTokenizer gives other"
    ):
        saved(tmp_path, SentencePieceTokenizer(trained[1].model))


def test_scores_are_multiples_of_one_256th_whose_sums_are_exact(trained):
    for tokenizer in trained:
        scores = [tokenizer._processor.get_score(i) for i in range(tokenizer.vocab_size)]
        assert any(scores)
        assert all(256 * score == round(256 * score) for score in scores)
        total = np.float32(0)
        for score in scores * 20:
            total += np.float32(score)
        assert float(total) == 20 * sum(scores)


def test_rounding_changes_nothing_else(trained):
    from minalbert.data.sentencepiece_scores import fields, with_round_scores

    piece = b"\x0a\x03abc\x15" + struct.pack("<f", -1.23456) + b"\x18\x01"
    other = b"\x12\x04\x15abc" + b"\x18\x80\x01"
    message = b"\x0a" + bytes([len(piece)]) + piece + other
    found = with_round_scores(message)
    assert [field[:2] for field in fields(message, 0, len(message))] == [(1, 2), (2, 2), (3, 0)]
    assert struct.unpack_from("<f", found, 2 + 6) == (-316 / 256,)
    assert found[:8] + found[12:] == message[:8] + message[12:]
    assert with_round_scores(trained[0].model) == trained[0].model
