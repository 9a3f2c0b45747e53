"""Answers that are kept from call to call: under a key that says all they are right, and not where one argument is left
out of it."""

import inspect

import numpy as np
import pytest

from exercises.source import sources
from minalbert_course.again.one_argument import CAUSE, changed_in_turn, judge
from minalbert_course.compare import Wrong
from minalbert_course.files import run
from minalbert_course.progress import marks_of
from minalbert_course.small_changes import changes, places, replaced
from minalbert_course.yours import Call

SOURCES = {source.lesson.name: source for source in sources()}
KEPT = """
import copy

_answers, _plain = {{}}, {function}


def _key(value):
    if isinstance(value, dict):
        return tuple((key, _key(part)) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_key, value))
    return (value.shape, value.tobytes()) if hasattr(value, "tobytes") else repr(value)


def {function}({arguments}):
    {checked}
    key = {key}
    if key not in _answers:
        _answers[key] = _plain({arguments})
    return copy.deepcopy(_answers[key])
"""
LEFT_OUT = [
    ("ex01", "central_difference", "f"), ("ex02", "linear_forward", "b"), ("ex03", "layer_norm_forward", "gain"),
    ("ex05", "attention_forward", "mask"), ("ex07", "albert_parameters", "shared"),
    ("ex08", "find_words", "begins"), ("ex08", "choose_spans", "lengths"), ("ex08", "choose_spans", "words"),
    ("ex09", "word_gradient", "x"), ("ex10", "lamb_step", "weight_decay"), ("ex11", "learning_rate", "steps"),
    ("ex13", "fill_mask", "words"), ("ex13", "first_difference", "limit"), ("ex14", "label_numbers", "names"),
    ("ex15", "best_span", "longest"), ("ex15", "answer_text", "places"), ("ex15", "answer_text", "text"),
]  # fmt: skip


def marked(name, tmp_path, function, key, checked="pass"):
    """key: an expression of the arguments, or a function of their names that gives one"""
    source, path = SOURCES[name], tmp_path / f"{SOURCES[name].path.stem}.py"
    path.write_text(source.solution(), encoding="utf-8")
    arguments = list(inspect.signature(run(path)[0][function]).parameters)
    key = key if isinstance(key, str) else key(arguments)
    kept = KEPT.format(function=function, arguments=", ".join(arguments), key=key, checked=checked)
    path.write_text(source.solution() + kept, encoding="utf-8")
    return marks_of(source.lesson, path)


def all_of(arguments):
    return "".join(f"_key({argument}), " for argument in arguments)


@pytest.mark.parametrize(("name", "function", "argument"), LEFT_OUT)
def test_answers_kept_without_one_argument_lose_points(name, function, argument, tmp_path):
    marks = marked(name, tmp_path, function, lambda names: all_of(one for one in names if one != argument))
    assert marks.points < 10


@pytest.mark.parametrize(("name", "function", "key"), [
    ("ex04", "tanh_forward", "x.shape, x.ravel()[:6].tobytes()"),
    ("ex07", "albert_parameters", "tuple(config.values()), shared"),
    ("ex09", "word_gradient", "ids.tobytes(), dy.tobytes(), x.shape, x.flat[0], dlogits.tobytes()"),
    ("ex11", "unigram_loss", "len(counts), int(counts.sum())"),
    ("ex13", "fill_mask", "logits.tobytes(), k"),
    ("ex15", "answer_text", "text[:3], str(places), first, start, end"),
])  # fmt: skip
def test_keys_that_say_too_little_of_an_argument_have_this_cause(name, function, key, tmp_path):
    causes = [outcome.cause for outcome in marked(name, tmp_path, function, key).missed]
    assert CAUSE in causes


@pytest.mark.parametrize(("name", "function"), sorted({row[:2] for row in LEFT_OUT} - {("ex01", "central_difference")}))
def test_answers_kept_under_all_arguments_have_all_points(name, function, tmp_path):
    assert marked(name, tmp_path, function, all_of).points == 10


@pytest.mark.parametrize(("name", "function", "condition"), [
    ("ex08", "find_words", "not np.any(np.asarray(begins)[np.asarray(input_ids) < ORDINARY])"),
    ("ex08", "choose_spans", "sorted(order) == list(range(len(words))) and len(lengths) == len(words)"),
    ("ex09", "cross_entropy_forward", "labels.max(initial=0) < logits.shape[-1] and labels.min(initial=0) >= 0"),
    ("ex11", "learning_rate", "0 <= warmup <= steps and peak >= 0"),
    ("ex13", "fill_mask", "len(logits) == len(words) >= k >= 1"),
    ("ex15", "best_span", "longest >= 1 and len(scores)"),
])  # fmt: skip
def test_an_answer_may_refuse_arguments_that_do_not_fit(name, function, condition, tmp_path):
    refusing = f'if not ({condition}): raise ValueError("this does not fit")'
    assert marked(name, tmp_path, function, all_of, refusing).points == 10


@pytest.mark.parametrize(("name", "function", "condition", "nothing"), [
    ("ex08", "find_words", "not np.any(np.asarray(begins)[np.asarray(input_ids) < ORDINARY])", "[]"),
    ("ex15", "answer_text", "start <= end and places[-1][1] <= len(text)", "''"),
])  # fmt: skip
def test_an_answer_may_return_nothing_for_arguments_that_do_not_fit(name, function, condition, nothing, tmp_path):
    assert marked(name, tmp_path, function, all_of, f"if not ({condition}): return {nothing}").points == 10


def test_a_tuple_without_parts_is_one_answer(tmp_path):
    made = "return tuple(_plain(f, gradients, x))"
    assert marked("ex01", tmp_path, "find_wrong", all_of, made).points == 10


@pytest.mark.parametrize("value", [
    np.array(2.0), np.arange(3.0), np.arange(24.0).reshape(2, 3, 4), np.arange(6)[::-1], np.ones(4, np.int64), True, 3,
    0.25, "a text", [3, 1, 2], ("a", "b"), [[0, 1], [2]], {"H": 4, "F": 16, "name": "x"},
])  # fmt: skip
def test_a_change_keeps_type_and_shape_and_is_one(value):
    found = list(changes(value))
    assert found
    for other in found:
        assert type(other) is type(value)
        assert isinstance(value, list) or np.shape(other) == np.shape(value)
        assert repr(other) != repr(value)


def test_the_first_change_of_an_array_keeps_its_numbers_its_first_and_its_last():
    x = np.random.default_rng(0).standard_normal((3, 4))
    first = next(changes(x))
    assert sorted(first.ravel()) == sorted(x.ravel())
    assert first[0, 0] == x[0, 0]
    assert first[-1, -1] == x[-1, -1]


def test_a_mask_stays_a_mask():
    for mask in (np.zeros((2, 1, 1, 3)), np.where(np.arange(6) < 4, 0.0, -10000.0)):
        assert all(set(other.ravel()) <= set(mask.ravel()) for other in changes(mask))


def test_of_a_list_of_dicts_each_array_is_changed_alone():
    weights = [{"w": np.arange(4.0), "b": np.arange(3.0)}, {"w": np.arange(4.0)}]
    paths = list(places(weights))
    assert paths == [(0, "w"), (0, "b"), (1, "w")]
    other = replaced(weights, (0, "b"), "another")
    assert other[0]["b"] == "another"
    assert other[0]["w"] is weights[0]["w"]
    assert other[1] is weights[1]


def test_a_number_of_words_that_does_not_fit_dlogits_has_no_right_answer():
    """An answer may count the words of dlogits, and leave vocab_size alone."""
    dy, x = np.arange(20.0).reshape(1, 4, 5), np.ones((1, 3, 5))
    call = Call("word_gradient", (np.zeros((1, 4), int), dy, x, np.zeros((1, 3, 2)), 2), {}, None)
    turns = list(changed_in_turn(SOURCES["ex09"].lesson, [call], 0))
    assert len(turns) > 1
    assert all(steps[0].args[4] == 2 for steps, _ in turns)


def test_an_answer_may_return_none_for_arguments_that_do_not_fit():
    call = Call("best_span", (), {}, (0, 1))
    judge(SOURCES["ex15"].lesson, [(call, (0, 1), ((0, 1), [])), (call, (5, 9), (None, []))])
    with pytest.raises(Wrong, match="the same where one argument"):
        judge(SOURCES["ex15"].lesson, [(call, (0, 1), ((0, 1), [])), (call, (5, 9), ((0, 1), []))])
