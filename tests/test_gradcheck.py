"""The checker itself: it must see what is wrong, say where, and guess why; and pass what is right."""

import json

import numpy as np
import pytest

from minalbert import Albert
from minalbert.gradcheck import GradientError, check_model, check_pair
from minalbert.gradcheck.cases import TINY, all_cases, hard_batch, hard_params, model_cases
from minalbert.gradcheck.command import run
from minalbert.gradcheck.numeric import gradient
from minalbert.gradcheck.table import lines

pytest_plugins = "pytester"
rng = np.random.default_rng(0)
X, W = rng.standard_normal((3, 4)), rng.standard_normal((4, 4))


def linear_forward(x, w):
    return x @ w, (x, w)


def linear_backward(dy, cache):
    x, w = cache
    return dy @ w.T, x.T @ dy


def broken(**wrong):
    """linear_backward with one of its gradients replaced."""

    def backward(dy, cache):
        right = dict(zip(("x", "w"), linear_backward(dy, cache), strict=True))
        return tuple((right | {name: f(right[name], dy, cache) for name, f in wrong.items()}).values())

    return backward


def complaint(backward, entries=True, method="complex"):
    with pytest.raises(GradientError) as error:
        check_pair(linear_forward, backward, {"x": X, "w": W}, entries=entries, method=method).check()
    return str(error.value)


@pytest.mark.parametrize("method", ["complex", "central"])
@pytest.mark.parametrize("entries", [True, False])
def test_the_right_gradient_passes(method, entries):
    report = check_pair(linear_forward, linear_backward, {"x": X, "w": W}, method=method, entries=entries)
    assert report.passed
    assert "2 gradients right" in str(report)
    assert report.error < (1e-14 if method == "complex" else 1e-8)


@pytest.mark.parametrize("method", ["complex", "central"])
@pytest.mark.parametrize("entries", [True, False])
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda right, dy, cache: -right, "looks like: the sign is wrong"),
        (lambda right, dy, cache: right / np.sqrt(3), "a constant factor: yours is 0.57735 (1/√3) times"),
        (lambda right, dy, cache: right / 12, "yours is 0.0833333 (1/12) times"),
        (lambda right, dy, cache: right.T, "looks like: transposed"),
        (lambda right, dy, cache: 0 * right, "zero everywhere"),
        (lambda right, dy, cache: right / 0, "the first one that is not finite is at [0, 0]"),
        (lambda right, dy, cache: right * (np.arange(4) != 2)[:, None], "only rows [2] are wrong"),
        (lambda right, dy, cache: right + right.mean(axis=-1, keepdims=True), "constant along the last axis"),
    ],
)
def test_a_wrong_gradient_is_named_placed_and_guessed(wrong, sentence, method, entries):
    with np.errstate(all="ignore"):
        message = complaint(broken(w=wrong), entries, method)
    assert "dw: relative error" in message
    assert "yours" in message
    assert "expected" in message
    assert "ratio" in message
    assert sentence in message
    assert "dx" not in message


def test_the_worst_entry_is_found():
    def wrong(right, dy, cache):
        right[1, 3] += 0.5
        return right

    assert "worst entry [1, 3]" in complaint(broken(w=wrong))
    assert "worst entry [1, 3]" in complaint(broken(w=wrong), entries=False)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda right, dy, cache: None, "dx: is None; it must be an array of shape (3, 4)"),
        (lambda right, dy, cache: right.T, "dx: has shape (4, 3); it must be (3, 4) (looks like: transposed)"),
        (lambda right, dy, cache: np.stack([right, right]), "the sum over the axes along which"),
    ],
)
def test_a_wrong_shape_is_told(wrong, sentence):
    assert sentence in complaint(broken(x=wrong))


def test_upstream_is_not_what_the_caller_drew():
    """x from default_rng(0) and a check with seed 0: were dy = x, xᵀdy would be symmetric."""
    x = np.random.default_rng(0).standard_normal((3, 4))
    transposed = broken(w=lambda right, dy, cache: right.T)
    assert not check_pair(linear_forward, transposed, {"x": x, "w": W}, seed=0).passed


def test_a_modified_argument_is_told():
    def writes_into_x(dy, cache):
        cache[0][...] = 0.0
        return linear_backward(dy, cache)

    assert "the argument was modified" in complaint(writes_into_x)


def test_a_cache_that_serves_only_once_is_told():
    def forward(x, w):
        return x @ w, [x, w]

    def backward(dy, cache):
        result = linear_backward(dy, cache)
        cache[0] = 2 * cache[0]
        return result

    with pytest.raises(GradientError, match="dw: backward gave another gradient when called again"):
        check_pair(forward, backward, {"x": X, "w": W}).check()


def test_an_integer_that_gets_a_gradient_is_told():
    def backward(dy, cache):
        return np.zeros(3), 1.0 * dy

    with pytest.raises(GradientError, match="dids: has no gradient: return None"):
        check_pair(lambda ids, x: (1.0 * x, None), backward, {"ids": np.arange(3), "x": X}).check()


def test_a_sum_of_outputs_cannot_be_asked_for():
    """With ones upstream, softmax's true gradient is zero and a backward that returns zeros would pass."""
    from minalbert.layers import softmax_forward

    with pytest.raises(GradientError, match="zero everywhere"):
        check_pair(softmax_forward, lambda dy, cache: (0 * dy,), {"x": X}).check()


def test_a_gradient_that_is_zero_by_theory_does_not_cry_wolf():
    """Against its own size, rounding would be an error of one."""

    def forward(x, b):
        e = np.exp(x + b)
        return e / e.sum(axis=-1, keepdims=True), e / e.sum(axis=-1, keepdims=True)

    def backward(dy, y):
        dx = y * (dy - (dy * y).sum(axis=-1, keepdims=True))
        return dx, dx.sum(axis=-1, keepdims=True)

    assert check_pair(forward, backward, {"x": X, "b": rng.standard_normal((3, 1))}).passed


def test_a_float_buffer_that_drops_the_derivative_is_an_error():
    def forward(x):
        y = np.empty(x.shape)
        y[...] = x
        return y, None

    with pytest.raises(np.exceptions.ComplexWarning):
        check_pair(forward, lambda dy, cache: (dy,), {"x": X})


def test_numeric_gradients_of_a_known_function():
    def loss(tensors):
        return (np.exp(tensors["x"]) * tensors["y"]).sum()

    tensors = {"x": X, "y": rng.standard_normal((3, 4))}
    exact = np.exp(X) * tensors["y"]
    np.testing.assert_allclose(gradient(loss, tensors, "x", "complex"), exact, rtol=1e-15)
    np.testing.assert_allclose(gradient(loss, tensors, "x", "central"), exact, rtol=1e-8)
    with pytest.raises(ValueError, match="method 'forward' is unknown"):
        gradient(loss, tensors, "x", "forward")


def test_the_model_check_names_the_parameter(monkeypatch):
    from minalbert.gradcheck import checks

    def without_half(cache, grads):
        pretraining_backward(cache, grads)
        grads["encoder.ffn.up.b"] *= 0.5

    pretraining_backward = checks.pretraining_backward
    monkeypatch.setattr(checks, "pretraining_backward", without_half)
    with pytest.raises(GradientError, match=r"encoder\.ffn\.up\.b: relative error 5.0e-01") as error:
        check_model(TINY, hard_batch(TINY), hard_params(TINY), entries=False).check()
    assert "yours is 0.5 (1/2) times" in str(error.value)
    assert str(error.value).count("relative error") == 1


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
    assert len(data["gradients"]) == 35
    assert all(row["error"] < 1e-10 for row in data["gradients"])


def test_command_names_the_cases_when_none_fits(capsys):
    options = Options()
    options.case = ["convolution"]
    assert run(options) == 2
    assert "no case is named like 'convolution'" in capsys.readouterr().err


def test_command_fails_where_a_gradient_is_wrong(monkeypatch, capsys):
    from minalbert import layers

    monkeypatch.setattr(layers, "linear_backward", lambda dy, cache: (None, None, None))
    options = Options()
    options.case = ["linear"]
    assert run(options) == 1
    captured = capsys.readouterr()
    assert "WRONG" in captured.out
    assert "dx: is None" in captured.err


THEIRS = """
import numpy as np

def test_pair(gradcheck):
    gradcheck(lambda x: (x * x, x), lambda dy, x: (FACTOR * dy * x,), {"x": np.linspace(-1, 1, 5)})
"""


def test_plugin_in_another_repository(pytester):
    pytester.makepyfile(test_theirs=THEIRS.replace("FACTOR", "2"))
    pytester.runpytest_subprocess("-q").assert_outcomes(passed=1)
    result = pytester.runpytest_subprocess("--gradcheck=report", "-k", "linear or theirs", ".")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*gradient check*", "linear*dx*60*", "3 gradients, *"])
    every = pytester.runpytest_subprocess("--gradcheck", ".")
    every.assert_outcomes(passed=1 + len(all_cases()))


def test_plugin_fails_on_a_wrong_gradient(pytester):
    pytester.makepyfile(test_theirs=THEIRS.replace("FACTOR", "3"))
    result = pytester.runpytest_subprocess("-q")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*gradient check of * failed*", "*yours is 1.5 times what is expected*"])


def test_plugin_refuses_an_unknown_value(pytester):
    result = pytester.runpytest_subprocess("--gradcheck=all")
    result.stderr.fnmatch_lines(["*--gradcheck=all is unknown: use --gradcheck or --gradcheck=report"])
    assert result.ret == 4


@pytest.mark.parametrize("case", model_cases(), ids=lambda case: case.name)
def test_the_point_of_the_check_lets_no_gradient_vanish(case):
    """A mistake in a gradient far below the others would be below their rounding. The key bias has none."""
    _, grads = Albert(case.config, hard_params(case.config, case.heads)).loss_and_grads(hard_batch(case.config))
    sizes = {name: np.abs(grad).max() for name, grad in grads.items() if not name.endswith("key.b")}
    assert min(sizes.values()) > 1e-5 * max(sizes.values()), min(sizes, key=sizes.get)
