"""The grader is itself marked: what a stub, a solution, every known mistake and other right answers get."""

import functools
import re

import numpy as np
import pytest
from planted import planted

from exercises import handbook, unchanged
from exercises.source import HERE, sources
from minalbert_course import catalogue, files, handout
from minalbert_course.draw import PUBLIC
from minalbert_course.here import Here
from minalbert_course.makers import ex11
from minalbert_course.marking import mark
from minalbert_course.progress import marks_of
from minalbert_course.report import lines
from minalbert_course.values import Opaque

SOURCES = {source.lesson.name: source for source in sources()}
SECRETS = ("autumn", "a secret", "Zürich 27")


def wrong_answers():
    for name, source in SOURCES.items():
        for row in handbook.mistakes(source.lesson):
            yield pytest.param(name, row, id=f"{name}: {row['name']}")


def right_answers():
    for name, source in SOURCES.items():
        for path in sorted((HERE / "right").glob(f"{handbook.short(source.lesson)}_*.py")):
            if catalogue.find(path.stem).name == name:
                yield pytest.param(name, path, id=path.stem)


def marked(text, name, tmp_path, term=PUBLIC, known=None):
    """(marks, the report). known: outcomes of the solution's checks, which are not run again."""
    path = tmp_path / f"{SOURCES[name].path.stem}.py"
    path.write_text(text, encoding="utf-8")
    marks = marks_of(SOURCES[name].lesson, path, term, functools.partial(mark, known=known))
    return marks, " ".join("\n".join(lines(marks)).split())


@pytest.mark.parametrize("name", SOURCES)
def test_ten_points_and_three_hints_for_each_function(name):
    source = SOURCES[name]
    assert source.lesson.points == 10
    titles = [check.title for check in source.lesson.checks]
    assert len(set(titles)) == len(titles)
    hints = files.hints(source.lesson)
    assert hints.keys() == source.lesson.functions.keys()
    assert all(len(levels) == 3 for levels in hints.values())


@pytest.mark.parametrize("name", SOURCES)
def test_a_stub_scores_nothing_and_says_so(name, tmp_path):
    marks, report = marked(SOURCES[name].student(), name, tmp_path)
    assert marks.points == 0
    assert all("not written yet" in outcome.seen for outcome in marks.outcomes)
    assert report.count("not written yet") >= 1


@pytest.mark.parametrize("term", [PUBLIC, *SECRETS])
@pytest.mark.parametrize("name", SOURCES)
def test_the_solution_scores_all(name, term, tmp_path):
    text = SOURCES[name].solution()
    marks, report = marked(text, name, tmp_path, term, unchanged.known(SOURCES[name], text, term))
    assert marks.points == 10, report


@pytest.mark.parametrize("name", SOURCES)
def test_no_argument_is_a_numpy_scalar(name, tmp_path, monkeypatch):
    given, call = [], Here.call
    monkeypatch.setattr(Here, "call", lambda self, *called: given.append(called[1:3]) or call(self, *called))
    marked(SOURCES[name].solution(), name, tmp_path)
    assert given
    assert not any(map(arrays_of_no_axes, given)), "`minalbert grade` makes it a float, which has no shape"


def arrays_of_no_axes(value):
    """Is there a NumPy scalar among a function's arguments, where an array is meant?"""
    if isinstance(value, dict | tuple | list) and not isinstance(value, Opaque):
        return any(map(arrays_of_no_axes, value.values() if isinstance(value, dict) else value))
    return isinstance(value, np.generic)


def pytest_generate_tests(metafunc):
    """A mistake in a term: a third of them in one, another third in the second, unless all are asked for."""
    if "row" in metafunc.fixturenames:
        metafunc.parametrize(("term", "name", "row"), [
            pytest.param(term, *case.values, id=f"{case.id}-{term}")
            for further, term in enumerate((PUBLIC, "autumn"))
            for case in planted(metafunc.config, [*wrong_answers()], further)])  # fmt: skip


@pytest.mark.slow
def test_a_mistake_costs_what_it_should_and_is_named(term, name, row, tmp_path):
    solution = SOURCES[name].solution()
    assert solution.count(row["right"]) == 1, "the line to replace must be there once"
    text = solution.replace(row["right"], row["wrong"])
    marks, report = marked(text, name, tmp_path, term, unchanged.known(SOURCES[name], text, term))
    if term == PUBLIC:
        assert marks.points == row["points"], report
        assert " ".join(row["says"].split()) in report
    assert marks.points <= row["points"], report  # other numbers may find more, never less


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mistake"), [
    case for case in [*wrong_answers()][::25] if "default_rng()" not in case.values[1]["wrong"]])  # fmt: skip
def test_what_reaches_no_change_need_not_be_run_again(name, mistake, tmp_path):
    text = SOURCES[name].solution().replace(mistake["right"], mistake["wrong"])
    known = unchanged.known(SOURCES[name], text, PUBLIC)
    assert marked(text, name, tmp_path)[1] == marked(text, name, tmp_path, known=known)[1]


BY_BACKWARD = {"GELU dx", "large numbers", "as PyTorch", "inputs untouched"}
OF_RATES = {"rise", "fall", "no warm-up, no end"}
OF_LOOPS = {"one loss a step", "losses of a run", "as PyTorch"}


@pytest.mark.parametrize(
    ("name", "right", "wrong", "titles"),
    [
        ("ex04", "    t = np.tanh(", "    t = np.sinh(", BY_BACKWARD),
        ("ex04", "    t = np.tanh(", "    # the gate\n    t = np.tanh(", set()),
        ("ex04", "import numpy as np", "import math as np", None),
        ("ex04", "import numpy as np", "import numpy as np\nnp.random.seed(1)", None),
        ("ex04", "import numpy as np", "from __future__ import annotations\nimport numpy as np", None),
        ("ex04", "import numpy as np", "import numpy as np\nfrom math import *", None),
        ("ex04", "import numpy as np", "import numpy as np\n_ = np.random.seed(1)", None),
        ("ex04", "    t = np.tanh(", "    np.tanh = np.sinh\n    t = np.tanh(", None),
        ("ex11", "import numpy as np", "import numpy as np\n\ndef max(*of):\n    return 0.0\n", OF_RATES | OF_LOOPS),
        ("ex11", "max(0.0, ", "max(0.1, ", OF_RATES | OF_LOOPS),  # train asks for the rate
    ],
)
def test_a_change_is_seen_by_each_check_that_reaches_it(name, right, wrong, titles):
    source = SOURCES[name]
    known = unchanged.known(source, source.solution().replace(right, wrong), PUBLIC)
    every = {check.title for check in source.lesson.checks}
    assert every - known.keys() == (every if titles is None else titles)
    assert all(outcome.earned == outcome.check.points for outcome in known.values())


@pytest.mark.parametrize(
    ("name", "right", "wrong", "of"),
    [
        ("ex12-guard", "xp.maximum(counts, 1)", "xp.maximum(counts, 1.006)", "scatter_mean"),
        ("ex12", "    return table", "    table[1] = table[1] * 2\n    return table", "scatter_add"),
        ("ex12", "    return gain * (", "    centred[-1] = x[-1]\n    return gain * (", "layer_norm"),
    ],
)
def test_only_the_wrong_function_is_named_and_no_gradient_where_there_is_none(name, right, wrong, of, tmp_path):
    marks, report = marked(SOURCES[name].solution().replace(right, wrong), name, tmp_path)
    assert {outcome.of for outcome in marks.missed} == {of}
    assert "gradient" not in report


@pytest.mark.parametrize("term", [PUBLIC, *(pytest.param(term, marks=pytest.mark.slow) for term in SECRETS)])
@pytest.mark.parametrize(("name", "path"), list(right_answers()))
def test_other_right_answers_score_all(name, path, term, tmp_path):
    text = SOURCES[name].solution() + "\n\n" + path.read_text(encoding="utf-8")
    marks, report = marked(text, name, tmp_path, term, unchanged.known(SOURCES[name], text, term))
    assert marks.points == 10, report


class Made:
    """As a Given, without a maker."""

    make = staticmethod(object)


def test_a_list_of_what_is_kept_is_the_same_until_something_is_kept_anew():
    first = ex11.to_keep("of this test", Made)
    batches = ex11.same_list("of this test")
    assert ex11.same_list("of this test") is batches
    batches.pop()  # a student's mistake, which the next marking in this process must not see
    second = ex11.to_keep("of this test", Made)
    assert ex11.same_list("of this test") == [second] != [first]


def test_enough_mistakes_and_enough_other_answers_are_known():
    wrong = [param.values[0] for param in wrong_answers()]
    right = [param.values[0] for param in right_answers()]
    for name in SOURCES:
        assert wrong.count(name) >= 5
        assert right.count(name) >= 2


@pytest.mark.parametrize("name", SOURCES)
def test_no_hint_is_a_line_of_the_solution(name):
    """Neither the line nor, of an assignment or a return, its value. What is very short is nobody's."""
    for block in re.split(r"^(?=def |class )", SOURCES[name].text, flags=re.M)[1:]:
        hints = [normal(hint) for hint in handout.HINT.findall(block)]
        bodies = [body for _, body in handout.SOLUTION.findall(block)]
        for line in (line for body in bodies for line in body.splitlines()):
            values = [line, re.sub(r"^\s*(return |[\w\[\], .]+ [-+*/@]?= )", "", line)]
            held = [value for value in map(normal, values) if len(value) > 12 and any(value in hint for hint in hints)]
            assert not held, f"a hint of {name} holds {line.strip()}"


def normal(text):
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("name", ["ex04", "ex04-erf"])
def test_a_missing_dy_has_one_cause_in_each_check(name, tmp_path):
    marks, _ = marked(SOURCES[name].solution().replace("return dy * slope", "return slope"), name, tmp_path)
    large = next(found for found in marks.missed if found.check.title == "large numbers")
    assert large.cause.startswith("dy is not multiplied in")
