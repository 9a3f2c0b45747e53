"""The checker as a program, and as a pytest plugin in another repository."""

import json

import pytest

from minalbert.commands import main
from minalbert.commands.gradcheck import run
from minalbert.gradcheck.cases import all_cases
from minalbert.gradcheck.table import lines

pytest_plugins = "pytester"


def test_the_table_has_a_line_per_tensor():
    rows = [row for case in all_cases()[:3] for row in case.check().rows()]
    text = list(lines(rows))
    assert len(text) == len(rows) + 2
    assert text[-1].startswith(f"{len(rows)} gradients, ")


class Options:
    case, directions, method, seed, json = ["all shared", "linear"], True, "complex", 0, False


def test_command_prints_the_table(capsys):
    assert run(Options()) == 0
    out = capsys.readouterr().out
    assert "encoder.ffn.up.w" in out
    assert "complex, one direction" in out


def test_command_prints_json(capsys):
    options = Options()
    options.json = True
    assert run(options) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["passed"] is True
    assert len(data["gradients"]) == 67  # 3 of linear, 32 of a model by pairs and again by kernels
    assert all(row["error"] < 1e-10 for row in data["gradients"])


def test_command_names_the_cases_when_none_fits(capsys):
    options = Options()
    options.case = ["convolution"]
    assert run(options) == 2
    assert "no case is named like 'convolution'" in capsys.readouterr().err


def test_command_goes_on_where_a_layer_crashes(monkeypatch, capsys):
    from minalbert import layers

    monkeypatch.setattr(layers, "tanh_forward", lambda x: 1 / 0)
    options = Options()
    options.case = ["tanh", "gelu"]
    assert run(options) == 1
    out = capsys.readouterr().out
    assert "gelu_erf" in out
    assert "gradient check of tanh crashed: ZeroDivisionError: division by zero (" in out


def test_command_refuses_a_seed_below_zero(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["gradcheck", "--seed", "-1"])
    assert "'-1' is not a whole number from 0 up" in capsys.readouterr().err


def test_command_fails_where_a_gradient_is_wrong(monkeypatch, capsys):
    from minalbert import layers

    monkeypatch.setattr(layers, "linear_backward", lambda dy, cache: (None, None, None))
    options = Options()
    options.case = ["linear"]
    assert run(options) == 1
    captured = capsys.readouterr()
    assert "WRONG" in captured.out
    assert "dx: is None" in captured.out


THEIRS = """
import numpy as np

def test_pair(gradcheck):
    gradcheck(lambda x: (x * x, x), lambda dy, x: (FACTOR * dy * x,), {"x": np.linspace(-1, 1, 5)})
"""


@pytest.mark.slow
def test_plugin_in_another_repository(pytester):
    pytester.makepyfile(test_theirs=THEIRS.replace("FACTOR", "2"))
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("--gradcheck=report", "-k", "linear or theirs", ".")
    result.assert_outcomes(passed=2, deselected=len(all_cases()) - 1)
    result.stdout.fnmatch_lines(["*gradient check*", "<lambda>*dx*5*", "linear*dx*60*", "4 gradients, *"])
    result.stdout.fnmatch_lines([f"collected {len(all_cases()) + 1} items / * / 2 selected"])
    every = pytester.runpytest_subprocess("--gradcheck", ".")
    every.assert_outcomes(passed=1 + len(all_cases()))
    pytester.runpytest_subprocess("--gradcheck", "test_theirs.py::test_pair").assert_outcomes(passed=1)


def test_plugin_takes_no_folder_for_a_value(pytester):
    pytester.mkdir("deep").joinpath("conftest.py").write_text(
        "def pytest_addoption(parser): parser.addoption('--mine')"
    )
    pytester.path.joinpath("deep", "test_theirs.py").write_text(THEIRS.replace("FACTOR", "2"), encoding="utf-8")
    result = pytester.runpytest_subprocess("--gradcheck", "deep", "--mine=1", "-k", "theirs")
    result.assert_outcomes(passed=1, deselected=len(all_cases()))


@pytest.mark.slow
def test_plugin_fails_on_a_wrong_gradient(pytester):
    pytester.makepyfile(test_theirs=THEIRS.replace("FACTOR", "3"))
    result = pytester.runpytest_subprocess("-q")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*gradient check of * failed*", "*yours is 1.5 times what is expected*"])


def test_plugin_refuses_an_unknown_value(pytester):
    result = pytester.runpytest_subprocess("--gradcheck=all")
    result.stderr.fnmatch_lines(["*--gradcheck*ignored explicit argument 'all'*"])
    assert result.ret == 4
