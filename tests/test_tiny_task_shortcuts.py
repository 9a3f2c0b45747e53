"""The tasks of tiny worlds have no shortcut: words, lengths and places alone do not tell the label."""

from collections import Counter

import numpy as np
import pytest
import ridge
from tiny_tasks import made, sentences_of

from minalbert.data.tiny_worlds import step_tasks
from minalbert.data.tiny_worlds.scripts import BY_KIND


def texts_and_labels(name, count, split, seed):
    found = [example.fields for example in made(name, split, count, seed)]
    labels = sorted({row[-1] for row in found})
    texts = [row[1:-1] if name == "grammar" else row[:-1] for row in found]
    return texts, [labels.index(row[-1]) for row in found]


def errors_above_chance(name, features, count=600, seeds=(0, 1, 2)):
    """By how many standard errors ridge regressions on some features, one a seed, are better than chance."""
    found = []
    for seed in seeds:
        train, labels = texts_and_labels(name, count, "train", seed)
        test, answers = texts_and_labels(name, count, "dev", seed)
        known, unknown = features(train, test)
        found.append(ridge.accuracy(known, labels, unknown, answers))
    return ridge.standard_errors(np.mean(found), 1 / (max(labels) + 1), count * len(seeds))


@pytest.mark.parametrize("features", [ridge.bag_of_words, ridge.surface])
@pytest.mark.parametrize("name", ["order", "permutation", "before", "doer"])
def test_words_lengths_and_edges_say_nothing(name, features):
    assert abs(errors_above_chance(name, features)) <= 3


@pytest.mark.parametrize("features", [ridge.bag_of_words, ridge.lengths])
def test_only_where_a_word_stands_is_a_mistake(features):
    assert abs(errors_above_chance("grammar", features)) <= 3


def test_the_regression_finds_what_there_is(monkeypatch):
    assert errors_above_chance("topic", ridge.bag_of_words, seeds=(0,)) > 50
    lines = [(script, first) for script in BY_KIND["line"] for first in range(len(script.steps) - 2)]
    with monkeypatch.context() as patch:
        patch.setattr(step_tasks, "STARTS", lines)  # whose words say where they are
        assert errors_above_chance("order", ridge.bag_of_words) > 5
        assert errors_above_chance("permutation", ridge.bag_of_words, count=1000) > 4
    monkeypatch.setattr(step_tasks, "WITHOUT_CUES", step_tasks.NATURAL)  # a name comes before she, a bowl before it
    assert errors_above_chance("order", ridge.bag_of_words) > 5


@pytest.mark.parametrize("features", [ridge.bag_of_words, ridge.surface])
def test_options_without_their_relation_to_the_article_say_nothing(features):
    """Each option is scored beside the article, and the best of four is chosen."""
    splits = [[example.fields for example in made("next", split, 500)] for split in ("train", "dev")]
    texts = [[(article, option) for _, article, options, _ in split for option in options] for split in splits]
    right = [[int(choice == letter) for *_, letter in split for choice in "ABCD"] for split in splits]
    train, test = features(*texts)
    chosen = ridge.scores(train, right[0], test)[:, 1].reshape(-1, 4).argmax(1)
    found = (chosen == np.array(right[1]).reshape(-1, 4).argmax(1)).mean()
    assert abs(ridge.standard_errors(found, 1 / 4, len(chosen))) <= 3


def test_distractors_are_as_long_as_what_is_right():
    for level in ("middle", "high"):
        difference = []
        for its, _, options, letter in (example.fields for example in made("next", "train", 800)):
            lengths = [len(option.split()) for option in options]
            if its == level:
                difference.append(lengths["ABCD".index(letter)] - np.mean(lengths))
        assert abs(np.mean(difference)) < 3 * np.std(difference) / np.sqrt(len(difference))


@pytest.mark.parametrize("hops", [1, 3, 6])
def test_neither_text_nor_question_says_that_there_is_an_answer(hops):
    splits = [[example.fields for example in made(f"spans{hops}", split, 600)] for split in ("train", "dev")]
    labels = [[int(row[2] is None) for row in split] for split in splits]
    texts = [[row[:2] for row in split] for split in splits]
    for features in (ridge.bag_of_words, ridge.surface):
        train, test = features(*texts)
        order = np.argsort(ridge.scores(train, labels[0], test)[:, 1])
        least_sure = np.array(labels[1])[order[: len(order) // 2]].mean()  # a third, if the scores say nothing
        assert abs(ridge.standard_errors(least_sure, 1 / 3, len(order) // 2)) <= 3


@pytest.mark.parametrize("hops", [1, 2, 4, 6])
def test_where_a_name_stands_does_not_make_it_the_answer(hops):
    """Whoever is given something last in the text, in the last sentence but one, ...: the answer in half of the cases
    at most, because two items are told of."""
    places = Counter()
    found = [example.fields for example in made(f"spans{hops}", "train", 600) if example.fields[2]]
    for context, _, answer in found:
        takers = [words[-2] for words in map(str.split, sentences_of(context)) if words[1] != "saw"]
        places[len(takers) - takers.index(answer)] += 1
    assert max(places.values()) / len(found) <= 0.5 + 3 * 0.5 / np.sqrt(len(found))
    assert len(places) == hops + 1
