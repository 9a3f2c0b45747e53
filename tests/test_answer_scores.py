"""SQuAD's scores, by the rules of the official scripts, written down once more."""

import re
import string
from collections import Counter
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minalbert.tasks import open_task
from minalbert.tasks.answer_scores import best_threshold, score, scores_of, scores_of_version_1
from minalbert.tasks.decoding import FoundAnswer
from minalbert.tasks.squad import Question, TextAnswer
from minalbert.tasks.task import Predictions

WORDS = st.lists(st.sampled_from(["the", "The", "a", "an", "cat", "Cat.", "cats", "theatre", "'s", "9,5", "…", "an,",
                                  "  "]), max_size=6).map(" ".join)  # fmt: skip


def official_tokens(text):
    text = "".join(letter for letter in text.lower() if letter not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def official_f1(gold, found):
    gold, found = official_tokens(gold), official_tokens(found)
    same = sum((Counter(gold) & Counter(found)).values())
    if len(gold) == 0 or len(found) == 0:
        return int(gold == found)
    if same == 0:
        return 0
    precision, recall = same / len(found), same / len(gold)
    return (2 * precision * recall) / (precision + recall)


@given(WORDS, st.lists(WORDS, max_size=3))
def test_a_questions_scores_are_the_official_ones(found, rights):
    golds = [text for text in rights if official_tokens(text)] or [""]
    exact, f1 = scores_of(found, rights)
    assert exact == max(int(official_tokens(gold) == official_tokens(found)) for gold in golds)
    assert f1 == pytest.approx(max(official_f1(gold, found) for gold in golds), rel=1e-15)


def f1_of_1_1(gold, found):
    gold, found = official_tokens(gold), official_tokens(found)
    same = sum((Counter(gold) & Counter(found)).values())
    if same == 0:
        return 0
    precision, recall = same / len(found), same / len(gold)
    return (2 * precision * recall) / (precision + recall)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
@example("the", ["the"])  # f1 is 0, and the match exact
def test_the_scores_of_version_1_are_the_official_ones(found, golds):
    exact, f1 = scores_of_version_1(found, golds)
    assert exact == max(int(official_tokens(gold) == official_tokens(found)) for gold in golds)
    assert f1 == pytest.approx(max(f1_of_1_1(gold, found) for gold in golds), rel=1e-15)


@pytest.mark.parametrize(("name", "f1"), [("squad1", 0.0), ("squad2", 1.0)])
def test_each_task_has_the_scores_of_its_script(name, f1):
    task = open_task(name)
    examples = SimpleNamespace(rows=[Question("0", "which word ?", "the", (TextAnswer("the", 0),))])
    found = Predictions(["the"], [FoundAnswer("0", "the", [], 0.0)])
    scores = task.score(found, examples)
    assert (scores["exact"], scores["f1"], task.losses(found, examples)) == (1.0, f1, 1 - f1)


def test_means_over_questions():
    found = {"who": "the King", "where": "in Rome", "why": ""}
    right = {"who": ["King"], "where": ["Rome", "Rome, Italy"], "why": []}
    assert score(found, right) == pytest.approx((2 / 3, (1 + 2 / 3 + 1) / 3))


@given(st.data())
def test_the_best_threshold_is_the_best_of_all(data):
    """Against every threshold there is, tried one by one."""
    n = data.draw(st.integers(1, 8))
    none = {i: number for i, number in enumerate(data.draw(st.permutations(range(n))))}
    there = {i: data.draw(st.booleans()) for i in range(n)}
    empty = {i: data.draw(st.booleans()) for i in range(n)}
    scores = {i: data.draw(st.sampled_from([0.0, 0.5, 1.0])) if there[i] else float(empty[i]) for i in range(n)}

    def with_threshold(limit):
        kept = {i for i in range(n) if none[i] <= limit}
        return sum(scores[i] if i in kept else float(not there[i]) for i in range(n)) / n

    found = best_threshold(scores, there, empty, none)
    assert found.score == pytest.approx(max(with_threshold(limit) for limit in range(-1, n)))
    assert with_threshold(found.value if found.score > with_threshold(-1) else -1) == pytest.approx(found.score)
