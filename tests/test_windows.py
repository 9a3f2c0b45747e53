"""Windows of a context, where an answer lies in them, and the way back from scores to the answer's text."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minalbert.data.sentencepiece_training import train
from minalbert.data.tokenizer import CLS, SEP
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import InputError
from minalbert.tasks.decoding import beam_pairs, beam_starts, found_answer, span_pairs
from minalbert.tasks.squad import Question, TextAnswer
from minalbert.tasks.windows import best_windows, make_windows, stretches_of

WORDS = WordTokenizer([f"w{i}" for i in range(400)])
STEMS = "walk talk sail read 2,000 30,000 café naïve (or) don't war office 1999".split()


@pytest.fixture(scope="module")
def pieces():
    pytest.importorskip("sentencepiece", reason="needs sentencepiece (pip install 'minalbert[train]')")
    draw = random.Random(1)
    return train([" ".join(draw.choices(STEMS, k=6)) for _ in range(300)], 44)


def about(context, *answers, id="q", asked="w1 w2 w3", impossible=False):
    answers = tuple(TextAnswer(text, context.index(text)) for text in answers)
    return Question(id, asked, context, answers, impossible)


def words(begin, end):
    return " ".join(f"w{i}" for i in range(begin, end))


# Windows


@settings(deadline=None)
@given(st.integers(0, 90), st.integers(1, 40), st.integers(1, 30))
def test_windows_cover_all_tokens_and_each_is_at_its_best_in_one(length, room, stride):
    context = words(0, length) or " "
    question = Question("q", "", context, None)
    windows = make_windows([question], WORDS, max(room + 3, 8), stride=stride).windows
    tokens = WORDS.encode(context)
    seen, best = [0] * length, [0] * length
    assert len(windows) == len(stretches_of(length, max(room, 5), stride))
    for window, (begin, end) in zip(windows, stretches_of(length, max(room, 5), stride), strict=True):
        ((ids, types),) = window.sequences
        assert ids == [CLS, SEP, *tokens[begin:end], SEP]
        assert types == [0, 0] + [1] * (end - begin + 1)
        for i in range(begin, end):
            seen[i] += 1
            best[i] += window.best[i - begin]
    assert min(seen, default=1) >= 1
    assert best == [1] * length


@settings(deadline=None)
@given(st.integers(1, 2000), st.sampled_from([317, 381, 445, 509]))
def test_windows_of_released_lengths_begin_every_128_tokens(length, room):
    expected, begin = [], 0
    while True:  # as the released code does
        size = min(length - begin, room)
        expected.append((begin, begin + size))
        if begin + size == length:
            break
        begin += min(size, 128)
    assert stretches_of(length, room, 128) == expected


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 60), st.integers(5, 40))
def test_the_best_window_has_most_context(length, room):
    windows = make_windows([Question("q", "", words(0, length), None)], WORDS, room + 3).windows
    for token in range(length):
        place = words(0, length).split(" ")[:token]
        start = len(" ".join(place)) + bool(place)
        contexts = []
        for window in windows:
            starts = [first for first, _ in window.places]
            if start in starts:
                left, size = starts.index(start), len(starts)
                contexts.append((min(left, size - left - 1) + 0.01 * size, window.best[left]))
        scores = [score for score, _ in contexts]
        assert [best for _, best in contexts].index(True) == scores.index(max(scores))


def test_the_longer_window_is_better_by_a_hundredth_of_its_length():
    """Token 223 has 93 tokens after it in the first window, which has 317, and 94 before it in the other, of 191."""
    best = best_windows([(0, 317), (129, 320)])
    assert best.tolist() == [0] * 224 + [1] * 96


def test_a_window_in_full():
    question = about(words(10, 20), "w16 w17")
    first, second, third = make_windows([question], WORDS, 12, stride=2).windows
    assert first.sequences == (([CLS, 6, 7, 8, SEP, *range(15, 21), SEP], [0] * 5 + [1] * 7),)
    assert (first.first, first.label.span, first.label.impossible) == (5, (0, 0), 1)
    assert first.label.barred.tolist() == [False, *[True] * 4, *[False] * 6, True]
    assert first.best.tolist() == [True, True, True, True, False, False]
    assert (second.label.span, second.label.impossible) == ((9, 10), 0)
    assert (third.label.span, third.label.impossible) == ((7, 8), 0)


def test_questions_that_are_cut_and_answers_in_no_window_are_reported():
    questions = [about(words(0, 30), "w3", id="short"), about(words(0, 30), "w3", id="long", asked=words(0, 20)),
                 about(words(0, 30), words(4, 16), id="wide"), about("w1 \u0301 w2", "w2", id="fine"),
                 about(words(0, 30), id="none", impossible=True)]  # fmt: skip
    found = make_windows(questions, WORDS, 16, question_length=4)
    assert found.cut == ["long"]
    assert found.unplaced == {"wide": "its answer has 12 tokens, and is in no window as a whole"}
    assert {window.id for window in found.windows} == {each.id for each in questions}
    assert all(window.label.impossible for window in found.windows if window.id in ("wide", "none"))
    assert all(len(window.sequences[0].input_ids) <= 16 for window in found.windows)
    (asked,) = {tuple(each.sequences[0].input_ids[1:5]) for each in found.windows if each.id == "long"}
    assert asked == (5, 6, 7, 8)


def test_an_answer_without_a_token_is_reported(pieces):
    found = make_windows([about("\u0301 a war", "\u0301")], pieces, 32)
    assert found.unplaced == {"q": "no token stands for '\u0301'"}
    assert found.windows[0].label.impossible


def test_a_length_without_room_is_refused():
    with pytest.raises(InputError, match="max_length is 7; it must be at least 8"):
        make_windows([], WORDS, 7)


# The way back


def scores_for(window, span, length):
    """Scores (T, 2) of a model that is sure of a span, if the window has it."""
    scores = np.random.default_rng(0).standard_normal((length, 2))
    if span != (0, 0):
        scores[span, [0, 1]] += 30
    return scores


def read_back(question, windows, length):
    pairs = [span_pairs(scores_for(window, window.label.span, length)) for window in windows]
    return found_answer(question, windows, pairs)


TEXTS = st.text("aé \n,0½ﬁ\u0301\u00a0漢'(", min_size=1, max_size=30) | st.lists(
    st.sampled_from(STEMS), min_size=1, max_size=8).map("  ".join)  # fmt: skip


@settings(deadline=None, max_examples=80)
@given(text=TEXTS, data=st.data())
def test_any_part_of_any_text_is_found_again(pieces, text, data):
    """The text that comes back is the answer, lengthened to whole tokens: to the tokens that have a part of it."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    question = Question("q", "war", text, (TextAnswer(text[start:end], start),))
    for tokenizer in (WORDS, pieces):
        windows, unplaced, _ = make_windows([question], tokenizer, 48)
        if unplaced:
            alone = {tokenizer.pieces[i] for character in text[start:end] for i in tokenizer.encode(character)}
            assert alone <= {"▁"} or "in no window" in unplaced["q"]
            continue
        found = read_back(question, windows, 48)
        if windows[0].label.span[1] - windows[0].label.span[0] >= 30:
            continue
        first, past = found.candidates[0].characters
        _, places = tokenizer.encode_with_places(text)
        inside = [place for place in places if place[0] < end and place[1] > start and place[0] < place[1]]
        assert (first, past) == (inside[0][0], inside[-1][1])
        assert text[start:end].strip(" \n\u00a0\u0301") in text[first:past]
        assert found.text == text[first:past].strip()


@settings(deadline=None, max_examples=40)
@given(st.integers(8, 60), st.data())
def test_an_answer_of_whole_words_comes_back_as_it_was(length, data):
    """From any window that has it; the context is longer than one."""
    begin = data.draw(st.integers(0, length - 1))
    answer = words(begin, min(begin + data.draw(st.integers(1, 3)), length))
    question = about(words(0, length), answer)
    question = question._replace(answers=(TextAnswer(answer, len(words(0, begin)) + bool(begin)),))
    windows, unplaced, _ = make_windows([question], WORDS, 16)
    assert not unplaced
    assert read_back(question, windows, 16).text == answer


def test_spans_that_may_not_be():
    """Outside of the window's tokens, backwards, longer than 30 tokens, or where another window is better."""
    question = about(words(0, 60), "w3")
    windows = make_windows([question], WORDS, 48).windows
    first = windows[0].first
    assert (len(windows), first) == (2, 5)
    last = len(windows[0].places) - 1
    never = [(0, 0, 9.0), (1, first, 9.0), (first + 3, first + 2, 9.0), (first, first + 30, 9.0),
             (first + last, first + last, 9.0), (first, first + last + 1, 9.0)]  # fmt: skip
    assert found_answer(question, windows, [never, []]) == ("q", "", [], None)
    found = found_answer(question, windows, [[*never, (first, first + 29, 1.0)], []], [0.5, -0.25])
    assert (found.text, found.unanswerable) == (words(0, 30), -0.25)


def test_candidates_are_ranked_over_all_windows_and_no_text_comes_twice():
    question = about("w1 w2 w1 w3", "w2")
    (window,) = make_windows([question], WORDS, 16).windows
    i = window.first
    pairs = [(i, i, 1.0), (i + 2, i + 2, 3.0), (i + 3, i + 3, 3.0), (i + 1, i + 1, 2.0)]
    found = found_answer(question, [window], [pairs])
    assert [each.text for each in found.candidates] == ["w1", "w3", "w2"]
    assert [each.characters for each in found.candidates] == [(6, 8), (9, 11), (3, 5)]
    weights = np.exp([3.0, 3.0, 2.0])
    assert [each.probability for each in found.candidates] == pytest.approx(list(weights / weights.sum()))
    assert len(found_answer(question, [window], [pairs], n_best=2).candidates) == 2


def test_pairs_of_squad_1():
    scores = np.random.default_rng(1).standard_normal((40, 2))
    starts = sorted(range(40), key=lambda i: scores[i, 0], reverse=True)[:20]
    ends = sorted(range(40), key=lambda i: scores[i, 1], reverse=True)[:20]
    expected = {(i, j): scores[i, 0] + scores[j, 1] for i in starts for j in ends}
    found = span_pairs(scores)
    assert {(i, j): score for i, j, score in found} == pytest.approx(expected)
    assert len(found) == 400


def test_pairs_of_squad_2():
    rng = np.random.default_rng(2)
    start, end = rng.standard_normal((3, 12)), rng.standard_normal((3, 5, 12))
    start[0, 3:] = -1e30
    starts = beam_starts(start)
    assert starts.shape == (3, 5)
    assert starts[0, :3].tolist() == sorted(range(3), key=lambda i: -start[0, i])
    for b in range(3):
        found = beam_pairs(start[b], starts[b], end[b])
        assert len(found) == 25
        for number, (i, j, score) in enumerate(found):
            assert i == starts[b, number // 5]
            assert j == sorted(range(12), key=lambda k: -end[b, number // 5, k])[number % 5]
            log_probs = [x[at] - np.log(np.exp(x).sum()) for x, at in ((start[b], i), (end[b, number // 5], j))]
            assert score == pytest.approx(sum(log_probs))
    assert beam_starts(start[:, :2]).shape == (3, 2)
