"""Sequences for a model: [CLS], [SEP], token types, and the released code's rules of what is cut."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minalbert.data.tokenizer import CLS, SEP
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import InputError
from minalbert.tasks.race import ChoiceQuestion
from minalbert.tasks.sequences import Sequence, choice_examples, shortened, text_examples
from minalbert.tasks.tables import TextExample

TOKENIZER = WordTokenizer([f"w{i}" for i in range(400)])
IDS = st.integers(0, 40).map(lambda length: list(range(5, 5 + length)))


def words(*numbers):
    return " ".join(f"w{i}" for i in numbers)


def ids(*numbers):
    return [i + 5 for i in numbers]


@settings(deadline=None)
@given(IDS, IDS, st.integers(1, 50))
def test_a_pair_is_cut_as_the_released_code_does(a, b, room):
    left, right = list(a), list(b)
    while len(left) + len(right) > room:
        if len(left) > len(right):
            left.pop()
        else:
            right.pop()
    assert shortened(a, b, room) == (left, right)


def test_single_texts_and_pairs():
    singles = [TextExample("0", (words(1, 2, 3),), 1), TextExample("1", (words(*range(9)),), None)]
    assert text_examples(singles, TOKENIZER, 6) == ([
        ("0", (Sequence([CLS, *ids(1, 2, 3), SEP], [0] * 5),), 1),
        ("1", (Sequence([CLS, *ids(0, 1, 2, 3), SEP], [0] * 6),), None),
    ], ["1"])  # fmt: skip
    pairs = [TextExample("7", (words(1, 2, 3, 4), words(5, 6, 7)), 2.5), TextExample("8", ("", words(1)), 0.0)]
    assert text_examples(pairs, TOKENIZER, 8) == ([
        ("7", (Sequence([CLS, *ids(1, 2, 3), SEP, *ids(5, 6), SEP], [0] * 5 + [1] * 3),), 2.5),
        ("8", (Sequence([CLS, SEP, *ids(1), SEP], [0, 0, 1, 1]),), 0.0),
    ], ["7"])  # fmt: skip
    assert [text_examples(pairs, TOKENIZER, length).cut for length in (9, 10)] == [["7"], []]
    assert [text_examples(singles, TOKENIZER, length).cut for length in (10, 11)] == [["1"], []]
    assert text_examples([], TOKENIZER, 8) == ([], [])


def test_each_option_is_a_sequence():
    questions = [
        ChoiceQuestion("a/0", words(*range(9)), "w10 _ w11 _", ("w20", "w21 w22"), 1),
        ChoiceQuestion("a/1", words(1), "w10", ("w20", ""), None),
    ]
    (first, second), cut = choice_examples(questions, TOKENIZER, 12)
    assert cut == ["a/0"]
    assert (first.id, first.label) == ("a/0", 1)
    assert first.sequences == (
        ([CLS, *ids(0, 1, 2, 3, 4), SEP, *ids(10, 20, 11, 20), SEP], [0] * 7 + [1] * 5),
        ([CLS, *ids(0, 1, 2), SEP, *ids(10, 21, 22, 11, 21, 22), SEP], [0] * 5 + [1] * 7),
    )
    assert [each.input_ids for each in second.sequences] == [
        [CLS, *ids(1), SEP, *ids(10, 20), SEP],
        [CLS, *ids(1), SEP, *ids(10), SEP],
    ]


@pytest.mark.parametrize(("max_length", "kept"), [(512, 128), (256, 128), (200, 100), (12, 6)])
def test_the_last_tokens_of_question_and_option_stay(max_length, kept):
    question = ChoiceQuestion("a/0", words(*range(300)), words(*range(300)), ("w301", "w302"), 0)
    (example,), cut = choice_examples([question], TOKENIZER, max_length)
    assert cut == ["a/0"]
    for option, (tokens, types) in zip((301, 302), example.sequences, strict=True):
        end = ids(*range(300), option)[-kept:]
        article = ids(*range(300))[: max_length - 3 - kept]
        assert tokens == [CLS, *article, SEP, *end, SEP]
        assert types == [0] * (len(article) + 2) + [1] * (kept + 1)


def test_a_length_without_room_is_refused():
    with pytest.raises(InputError, match="max_length is 3; it must be at least 4"):
        text_examples([], TOKENIZER, 3)
    with pytest.raises(InputError, match="max_length is 7; it must be at least 8"):
        choice_examples([], TOKENIZER, 7)
