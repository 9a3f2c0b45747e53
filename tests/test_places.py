"""The characters of a text that a token stands for: clean-up, sentencepiece's own rules and the rule for commas."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_vocabulary import with_pieces

from minalbert.data.normalise import Normaliser
from minalbert.data.sentencepiece_tokenizer import DIGIT_COMMAS, WORD, SentencePieceTokenizer
from minalbert.data.sentencepiece_training import train
from minalbert.data.word_tokenizer import WordTokenizer

pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install 'minalbert[train]')")

COMMAS = "▁in ▁20 00, 0 , ▁7 7, ▁7, ▁200, ▁97, 1 2 a b ▁war".split()
STEMS = "walk talk sail read 2,000 30,000 7,5 café naïve (or) don't war office 1999".split()
LETTERS = st.text(
    "abAéﬁ½ \t\n,.`'\"0123479ΣσİŞ\u0301\u0323\u200b\u00a0\u00a8漢각\u1112\u1161\u11ab㍿▁()-™ßＨ\u3000", max_size=16
)


@pytest.fixture(scope="module")
def tokenizers():
    draw = random.Random(1)
    model = train([" ".join(draw.choices(STEMS, k=6)) for _ in range(300)], 44).model
    trained = [SentencePieceTokenizer(model, each) for each in (Normaliser(), Normaliser(quotes=True))]
    return [*trained, *(with_pieces(COMMAS, rule) for rule in DIGIT_COMMAS), WordTokenizer(["a", "b"])]


@settings(deadline=None, max_examples=60)
@given(text=st.one_of(LETTERS, st.text(max_size=16).filter(lambda text: text.isprintable())))
def test_tokens_stand_for_all_characters_in_order(tokenizers, text):
    for tokenizer in tokenizers:
        ids, places = tokenizer.encode_with_places(text)
        assert ids == tokenizer.encode(text)
        assert len(places) == len(ids)
        assert [first for first, _ in places] == sorted(first for first, _ in places)
        assert [past for _, past in places] == sorted(past for _, past in places)
        assert all(text[first:past] == text[first:past].strip() for first, past in places)
        covered = {i for first, past in places for i in range(first, past)}
        for i in set(range(len(text))) - covered:  # white space, or nothing that tokens are made of
            alone = tokenizer.encode(text[i])
            assert {tokenizer.pieces[each] for each in alone} <= {WORD}, (i, text[i])


@settings(deadline=None, max_examples=60)
@given(text=LETTERS)
def test_clean_characters_know_where_they_come_from(text):
    for normaliser in (Normaliser(), Normaliser(quotes=True), Normaliser(lower=False)):
        clean, places = normaliser.with_places(text)
        assert clean == normaliser(text)
        assert len(places) == len(clean)
        for character, place in zip(clean, places, strict=True):
            if character not in ' "σς':  # two `` are one "; a σ depends on its neighbours
                assert character in normaliser(f"a{text[place]}"), (character, place)


@settings(deadline=None, max_examples=40)
@given(words=st.lists(st.sampled_from([*STEMS, "cafe\u0301", "CAFÉ", "2000,", "200,00,", "7,7,", "97,"]), max_size=8))
def test_a_tokens_characters_are_its_piece(tokenizers, words):
    text = "  ".join(words)
    for tokenizer in tokenizers[:5]:
        ids, places = tokenizer.encode_with_places(text)
        for i, (first, past) in zip(ids, places, strict=True):
            piece = tokenizer.pieces[i].removeprefix(WORD)
            assert piece in ("<unk>", tokenizer.normaliser(text[first:past]))


def test_pieces_of_one_character_share_its_place(tokenizers):
    ids, places = tokenizers[0].encode_with_places("war ½,")
    assert [tokenizers[0].pieces[i] for i in ids] == ["▁war", "▁", "1", "<unk>", "2", ","]
    assert places == [(0, 3), (4, 4), (4, 5), (4, 5), (4, 5), (5, 6)]


@pytest.mark.parametrize(("number", "expected"), [
    (2, [("▁in", 0, 2), ("▁20", 3, 5), ("0", 5, 6), ("0", 6, 7), (",", 7, 8), ("▁7", 9, 10), (",", 10, 11)]),
    (3, [("▁in", 0, 2), ("▁20", 3, 5), ("▁", 5, 5), ("0", 5, 6), ("0", 6, 7), (",", 7, 8), ("▁7", 9, 10),
         (",", 10, 11)]),
    (4, [("▁in", 0, 2), ("▁20", 3, 5), ("00,", 5, 8), ("▁7,", 9, 11)]),
])  # fmt: skip
def test_pieces_that_the_digit_rule_takes_apart(tokenizers, number, expected):
    ids, places = tokenizers[number].encode_with_places("in 2000, 7,")
    assert [(tokenizers[number].pieces[i], *place) for i, place in zip(ids, places, strict=True)] == expected


def test_unknown_digits_are_one_token(tokenizers):
    for tokenizer in tokenizers[2:4]:
        ids, places = tokenizer.encode_with_places("a 97, b")
        assert [tokenizer.pieces[i] for i in ids[-5:-2]] == ["▁", "<unk>", ","]
        assert places[-5:-2] == [(2, 2), (2, 4), (4, 5)]


def test_two_signs_that_become_a_quote():
    clean, places = Normaliser(quotes=True).with_places("``a'' ```b''c")
    assert clean == '"a" "`b"c'
    assert places == [0, 2, 3, 5, 6, 8, 9, 10, 12]


def test_a_word_stands_for_itself():
    tokenizer = WordTokenizer(["in", "2000,"])
    assert tokenizer.encode_with_places("\tin  2000, ") == ([5, 6], [(1, 3), (5, 10)])
