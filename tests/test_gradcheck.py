"""The checker itself: it must see what is wrong, say where, and guess why; and pass what is right."""

import numpy as np
import pytest

from minalbert import Albert
from minalbert.gradcheck import GradientError, check_model, check_pair
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params, model_cases
from minalbert.gradcheck.numeric import gradient

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
        (lambda right, dy, cache: right * (np.arange(4) != 2)[:, None], "only rows [2] are wrong: they are zero"),
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
        (lambda right, dy, cache: right.astype(np.float32), "dx: has dtype float32; it must be float64"),
        (lambda right, dy, cache: right.tolist(), "dx: is a list; it must be an array of shape (3, 4)"),
        (lambda right, dy, cache: np.ones((4, 4)), "dx: has shape (4, 4); it must be (3, 4)"),
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

    assert "x: was modified" in complaint(writes_into_x)


@pytest.mark.parametrize(
    "gradient", [lambda dy, x: np.multiply(dy, 2 * x, out=dy), lambda dy, x: np.copyto(dy, 0) or dy]
)
def test_writing_into_dy_is_told_and_hides_nothing(gradient):
    """Had the check compared with the dy that backward left behind, zeros would be right."""
    with pytest.raises(GradientError, match="dy: was modified"):
        check_pair(lambda x: (x * x, x), lambda dy, x: (gradient(dy, x),), {"x": X}).check()


def test_randomness_that_is_no_argument_is_told():
    generator = np.random.default_rng(0)

    def forward(x):
        return x * generator.random(x.shape), x

    with pytest.raises(GradientError, match="y: is another when forward is called again"):
        check_pair(forward, lambda dy, x: (dy,), {"x": X}).check()


@pytest.mark.parametrize(
    ("forward", "backward", "args", "sentence"),
    [
        (linear_forward, lambda dy, c: dy, {"x": X, "w": W}, r"returned an array; it must return a tuple: \(dx, dw,\)"),
        (linear_forward, lambda dy, c: (dy,), {"x": X, "w": W}, "returned 1 gradients for 2 arguments: dx, dw"),
        (lambda x, w: x @ w, linear_backward, {"x": X, "w": W}, r"returned an array; it must return \(y, cache\)"),
        (lambda x: (1.0, x), linear_backward, {"x": X}, "returned a float for y; it must be an array"),
        (
            linear_forward,
            linear_backward,
            {"x": X, "w": 0.5},
            r"args\['w'\] is 0.5, no array; settings go into static=",
        ),
        (linear_forward, linear_backward, (X, W), "args is a tuple of 2; it must be a dict"),
        (
            linear_forward,
            linear_backward,
            {"x": np.arange(3)},
            "there is no gradient to check; arguments are x of int64",
        ),
    ],
)
def test_what_is_no_pair_is_told(forward, backward, args, sentence):
    with pytest.raises(GradientError, match=sentence):
        check_pair(forward, backward, args)


def test_an_unknown_constant_is_told():
    with pytest.raises(GradientError, match="constants names 'mask'; the arguments are x, w"):
        check_pair(linear_forward, linear_backward, {"x": X, "w": W}, constants=["mask"])


def variance_forward(x):
    """As students write it: np.var takes the modulus, and a complex step gets lost in it."""
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 0.1), x


def variance_backward(dy, x, keep=1.0):
    rstd = 1 / np.sqrt(x.var(axis=-1, keepdims=True) + 0.1)
    xhat = (x - x.mean(axis=-1, keepdims=True)) * rstd
    means = dy.mean(axis=-1, keepdims=True) + keep * xhat * (dy * xhat).mean(axis=-1, keepdims=True)
    return (rstd * (dy - means),)


def buffer_forward(x):
    y = np.empty(x.shape)
    y[...] = x * x
    return y, x


@pytest.mark.parametrize(
    ("forward", "backward"),
    [(variance_forward, variance_backward), (buffer_forward, lambda dy, x: (2 * dy * x,))],
)
@pytest.mark.parametrize("entries", [True, False])
def test_a_right_pair_that_complex_numbers_cannot_pass_is_right(forward, backward, entries):
    report = check_pair(forward, backward, {"x": X}, entries=entries)
    assert report.passed
    assert report.method == "central"
    assert "np.var" in str(report)


def test_a_function_that_refuses_complex_numbers_is_named():
    report = check_pair(
        lambda x: (np.logaddexp(0, x), x), lambda dy, x: (dy / (1 + np.exp(-x)),), {"x": X}, name="softplus"
    )
    assert report.passed
    assert report.method == "central"
    assert "forward takes no complex numbers (ufunc 'logaddexp' not supported for the input types)" in str(report)
    assert "imaginary" not in str(report)


def test_a_wrong_pair_that_complex_numbers_cannot_pass_is_wrong():
    report = check_pair(variance_forward, lambda dy, x: variance_backward(dy, x, keep=0.99), {"x": X})
    assert not report.passed
    assert "np.var" in str(report)


def test_a_cache_that_serves_only_once_is_told():
    def forward(x, w):
        return x @ w, [x, w]

    def backward(dy, cache):
        result = linear_backward(dy, cache)
        cache[1] = 2 * cache[1]
        return result

    with pytest.raises(GradientError, match="dx: is another when backward is called again"):
        check_pair(forward, backward, {"x": X, "w": W}).check()


def test_an_integer_that_gets_a_gradient_is_told():
    def backward(dy, cache):
        return np.zeros(3), 1.0 * dy

    with pytest.raises(GradientError, match=r"dids: is not None, but ids holds whole numbers \(int64\)"):
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

    def without_half(cache, ctx, grads):
        pretraining_backward(cache, ctx, grads)
        grads["encoder.ffn.up.b"] *= 0.5

    pretraining_backward = checks.pretraining_backward
    monkeypatch.setattr(checks, "pretraining_backward", without_half)
    with pytest.raises(GradientError, match=r"encoder\.ffn\.up\.b: relative error 5.0e-01") as error:
        check_model(TINY, hard_batch(TINY), hard_params(TINY), entries=False).check()
    assert "yours is 0.5 (1/2) times" in str(error.value)
    assert str(error.value).count("relative error") == 1


def test_shared_passes_that_overwrite_are_guessed(monkeypatch):
    from minalbert.model import block

    def overwrite(grads, prefix, names, dparams):
        for name, dparam in zip(names, dparams, strict=True):
            grads[f"{prefix}.{name}"][...] = dparam

    monkeypatch.setattr(block, "add_to", overwrite)
    with pytest.raises(GradientError, match="the encoder's gradients alone are wrong"):
        check_model(TINY, hard_batch(TINY), hard_params(TINY), entries=False).check()


@pytest.mark.parametrize("case", model_cases(), ids=lambda case: case.name)
def test_the_point_of_the_check_lets_no_gradient_vanish(case):
    """A mistake in a gradient far below the others would be below their rounding. The key bias has none."""
    _, grads = Albert(case.config, hard_params(case.config, case.heads)).loss_and_grads(hard_batch(case.config))
    sizes = {name: np.abs(grad).max() for name, grad in grads.items() if not name.endswith("key.b")}
    assert min(sizes.values()) > 1e-5 * max(sizes.values()), min(sizes, key=sizes.get)
