"""Somebody's own functions in the real model: they are called, checked first, and named."""

import ast
import json
import os
from pathlib import Path

import exercise_files
import numpy as np
import pytest
import small_run

import minalbert.layers
from minalbert import Albert, Batch, DropoutKey, commands
from minalbert.errors import ConfigError
from minalbert.gradcheck.cases import TINY
from minalbert.layers import linear_backward, linear_forward
from minalbert.optim import Lamb, Moments
from minalbert.train import checkpoint
from minalbert_course.errors import CourseError
from minalbert_course.your_code import PAIRS, PLACES, WANTED, YourCode, your_code

BATCH = Batch.random(TINY, 4, 5, 2)
PLAIN = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "steps": 8, "every": 4}


def model(dtype="float64", config=TINY):
    return Albert.init(config, dtype=dtype)


@pytest.fixture
def attention_file(tmp_path):
    path = tmp_path / "my_attention.py"
    path.write_text(exercise_files.solution("ex05"), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    """The solutions of all exercises that ask for a part of the model or its optimiser."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("ex02", "ex03", "ex04", "ex05", "ex06", "ex09", "ex10"):
        (folder / exercise_files.file_name(name)).write_text(exercise_files.solution(name), encoding="utf-8")
    return folder


def counted(function, calls):
    def counting(*args):
        calls.append(function.__name__)
        return function(*args)

    return counting


@pytest.mark.parametrize("made", ["before", "inside"])
def test_the_models_gradients_come_from_your_functions(made):
    calls, albert = [], model()
    expected, grads = albert.loss_and_grads(BATCH)
    yours = {f.__name__: counted(f, calls) for f in (linear_forward, linear_backward)}
    with your_code(yours, check=False):
        losses, own = (albert if made == "before" else model()).loss_and_grads(BATCH)
    a_pass = 1 + TINY.num_hidden_layers * 6 + 3  # the projection; q k v output up down; three in the heads
    assert calls.count("linear_forward") == calls.count("linear_backward") == a_pass
    np.testing.assert_allclose(losses.total, expected.total, rtol=1e-12)
    np.testing.assert_allclose(own.flat, grads.flat, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "encoder"])
def test_every_pair_is_put_where_the_model_calls_it(name):
    calls, config = [], TINY.replace(hidden_act="gelu" if name == "gelu_erf" else "gelu_new")
    forward, backward = (getattr(minalbert.layers, f"{name}_{way}") for way in ("forward", "backward"))
    yours = {f.__name__: counted(f, calls) for f in (forward, backward)}
    with your_code(yours, check=False):
        model(config=config).loss_and_grads(BATCH)
        assert model(config=config).encode(BATCH.input_ids)[0].shape == (4, 5, TINY.hidden_size)
    assert {f"{name}_forward", f"{name}_backward"} == set(calls)


def test_afterwards_the_library_is_as_it_was():
    albert, before = model(), [dict(vars(place)) for place in PLACES]
    expected = albert.encode(BATCH.input_ids)[0]
    zero = {"linear_forward": lambda x, w, b: (0 * (x @ w), None), "linear_backward": lambda dy, cache: None}
    try:
        with your_code(zero, check=False):
            assert not np.array_equal(albert.encode(BATCH.input_ids)[0], expected)
            raise RuntimeError("on purpose")
    except RuntimeError:
        pass
    assert np.array_equal(albert.encode(BATCH.input_ids)[0], expected)
    assert [dict(vars(place)) for place in PLACES] == before


def test_every_plain_module_that_calls_one_of_these_functions_is_a_place():
    library = Path(minalbert.__file__).parent
    paths = [library / "albert.py", library / "encoding.py"]
    for folder in ("layers", "model", "parallel"):
        paths += (library / folder).glob("*.py")
    calling = set()
    for path in paths:
        calls = [node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
        if {call.id for call in calls if isinstance(call, ast.Name)} & (WANTED - {"lamb_step"} | {"encoder_states"}):
            calling.add(path)
    assert calling == {Path(place.__file__) for place in PLACES}


def test_a_file_with_other_caches_gives_the_same_gradients(attention_file):
    _, expected = model().loss_and_grads(BATCH)
    with your_code(attention_file) as yours:
        _, grads = model().loss_and_grads(BATCH)
    assert str(yours) == "attention (my_attention.py)"
    np.testing.assert_allclose(grads.flat, expected.flat, atol=1e-12)


def test_in_float32_results_stay_float32():
    def linear_forward(x, w, b):
        return np.float64(1.0) * (x @ w) + b, (x, w)

    def linear_backward(dy, cache):
        x, w = cache
        rows, drows = x.reshape(-1, len(w)), dy.reshape(-1, w.shape[1])
        return dy @ w.T * np.float64(1.0), rows.T @ drows, drows.sum(axis=0)

    with your_code({"linear_forward": linear_forward, "linear_backward": linear_backward}):
        states = model("float32").hidden_states(BATCH.input_ids)
    assert {state.dtype for state in states} == {np.dtype("float32")}


def test_the_model_does_not_write_into_what_you_returned():
    """It adds the residual path into a layer's output, which your cache may hold."""
    returned = []

    def linear_forward(x, w, b):
        y = x @ w + b
        returned.append((y, y.copy()))
        return y, None

    with your_code({"linear_forward": linear_forward, "linear_backward": lambda dy, cache: None}, check=False):
        model().encode(BATCH.input_ids)
    assert returned
    assert all(np.array_equal(y, before) for y, before in returned)


def test_a_wrong_gradient_is_not_put_in(attention_file):
    text = attention_file.read_text(encoding="utf-8")
    right = "softmax_backward(dprobs, softmax_cache) / np.sqrt(q.shape[-1])"
    assert text.count(right) == 1
    attention_file.write_text(text.replace(right, "softmax_backward(dprobs, softmax_cache)"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"a constant factor: yours is 1\.73205"), your_code(attention_file):
        pass


def test_the_model_computes_with_nothing_but_the_students_functions(folder):
    losses, expected = model().loss_and_grads(BATCH)
    with your_code(folder) as yours:
        own, grads = model().loss_and_grads(BATCH)
    assert set(str(yours).partition(" (")[0].split(", ")) == {*PAIRS, "lamb_step"} - {"gelu_erf"}
    np.testing.assert_allclose(own.total, losses.total, rtol=1e-6)  # the exercise sums float32 weights in float32
    np.testing.assert_allclose(grads.flat, expected.flat, atol=1e-6)


def test_your_optimiser_makes_the_steps_of_lamb(folder, attention_file):
    ours, yours = model(), model()
    _, grads = ours.loss_and_grads(BATCH)
    moments, lamb = [Moments.zeros(ours.params) for _ in range(2)], Lamb(weight_decay=0.1)
    with your_code(folder) as own_code, your_code(attention_file) as attention_alone:
        assert attention_alone.optimiser(lamb) is None
        optimiser = own_code.optimiser(lamb)
    for t in (1, 2):
        ratios = [lamb.step(ours.params, grads, moments[0], 0.1, t, 0.5)]
        ratios += [optimiser.step(yours.params, grads, moments[1], 0.1, t, 0.5)]
    np.testing.assert_allclose(yours.params.flat, ours.params.flat, rtol=1e-9)
    assert ratios[0].keys() == ratios[1].keys()
    for name, ratio in ratios[0].items():
        np.testing.assert_allclose(ratios[1][name], ratio, rtol=1e-9)


def test_a_version_of_your_code_is_kept_and_named(tmp_path, attention_file):
    with your_code([attention_file]) as yours:
        yours.keep(tmp_path / "code")
    (kept,) = (tmp_path / "code").glob("*/my_attention.py")
    assert kept.read_bytes() == attention_file.read_bytes()
    assert yours.facts == {"your code": f"attention (my_attention.py), sha256 {kept.parent.name}"}


def test_what_cannot_be_used_is_named(tmp_path):
    (tmp_path / "nothing.py").write_text("x = 1\n")
    for source, message in (
        (tmp_path / "nothing.py", "no function in .*nothing.py has a place in the model"),
        (tmp_path / "absent.py", "absent.py is not there"),
        ({"gelu_forward": lambda x: (x, x)}, "gelu_forward is there without gelu_backward"),
        ({"gelu_forward": lambda: 1, "gelu_backward": lambda: 1}, "your gelu cannot be checked"),
    ):
        with pytest.raises(ConfigError, match=message), your_code(source):
            pass


def test_dropout_that_your_attention_does_not_know(attention_file):
    config = TINY.replace(attention_probs_dropout_prob=0.1)
    with your_code(attention_file), pytest.raises(ConfigError, match=r"this model's dropout is 0\.1; set it to 0"):
        model(config=config).loss_and_grads(BATCH, dropout=DropoutKey(1))


def test_a_run_says_whose_code_it_ran_and_keeps_it(tmp_path, attention_file):
    run, plain = tmp_path / "run", tmp_path / "plain"
    small_run.train(run, code=str(attention_file), **PLAIN)
    (event,) = small_run.events(run, "your code")
    assert event["text"] == "your own code: attention (my_attention.py)"
    (kept,) = (run / "code").glob("*/my_attention.py")
    assert kept.read_bytes() == attention_file.read_bytes()
    _, state, circumstances, _ = checkpoint.load(run)
    assert circumstances["your code"].startswith("attention (my_attention.py), sha256 ")
    small_run.train(plain, **PLAIN)
    _, expected, _, _ = checkpoint.load(plain)
    assert not small_run.events(plain, "your code")
    np.testing.assert_allclose(state.params.flat, expected.params.flat, atol=1e-4)


def test_your_lamb_makes_the_steps(tmp_path):
    path = tmp_path / "ex10_lamb.py"
    path.write_text(exercise_files.solution("ex10"), encoding="utf-8")
    small_run.train(tmp_path / "yours", code=str(path), **PLAIN)
    small_run.train(tmp_path / "ours", **PLAIN)
    states = [checkpoint.load(tmp_path / name)[1] for name in ("yours", "ours")]
    for one, other in zip((states[0].params, *states[0].moments), (states[1].params, *states[1].moments), strict=True):
        np.testing.assert_allclose(one.flat, other.flat, atol=1e-4)
    assert small_run.events(tmp_path / "yours", "your code")[0]["text"].endswith("lamb_step (ex10_lamb.py)")


def test_albert_trains_on_nothing_but_the_students_functions(tmp_path, folder):
    """The last lesson."""
    small_run.train(tmp_path / "yours", code=str(folder), **PLAIN)
    small_run.train(tmp_path / "ours", **PLAIN)
    states = [checkpoint.load(tmp_path / name)[1] for name in ("yours", "ours")]
    np.testing.assert_allclose(states[0].params.flat, states[1].params.flat, atol=1e-4)
    said = small_run.events(tmp_path / "yours", "your code")[0]["text"]
    for name in (*(name for name in PAIRS if name != "gelu_erf"), "lamb_step"):
        assert name in said


def test_with_is_an_option_of_pretrain(tmp_path, capsys, attention_file):
    argv = ["pretrain", str(tmp_path / "run"), "--with", "a.py", "--with", str(attention_file), "--print-config"]
    assert commands.main(argv) == 0
    assert f"code = {json.dumps(f'a.py{os.pathsep}{attention_file}')}" in capsys.readouterr().out


def test_an_encoder_of_yours_is_evaluated_as_it_is_trained():
    """Twice its input: losses, hidden states and the way back are of this encoder, and single layers have no states."""

    def encoder_forward(x, weights, mask, heads, eps, layers):
        return 2.0 * x, (weights,)

    def encoder_backward(dy, cache):
        return 2.0 * dy, {name: np.zeros_like(w) for name, w in cache[0].items()}

    albert = model()
    with your_code({"encoder_forward": encoder_forward, "encoder_backward": encoder_backward}, check=False):
        hidden, _ = albert.encode(*BATCH[:3])
        np.testing.assert_array_equal(hidden, albert.forward(*BATCH[:3]).hidden)
        (embedded,) = albert.hidden_states(*BATCH[:3], layers=[0])
        real = BATCH.attention_mask.astype(bool)  # behind a text's last token hidden is 0
        np.testing.assert_array_equal(hidden[real], 2.0 * embedded[real])
        with pytest.raises(ConfigError, match="no states of single layers"):
            albert.hidden_states(*BATCH[:3])
        with pytest.raises(ConfigError, match="your encoder_forward has no reversible layers"):
            Albert(albert.config.replace(reversible=True), albert.params).encode(*BATCH[:3])
    assert not np.array_equal(albert.encode(*BATCH[:3])[0], hidden)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_and_a_file_too_large_are_not_read(tmp_path):
    with pytest.raises(CourseError, match="/dev/zero is not a file; name a Python file or a notebook"):
        YourCode.read(["/dev/zero"])
    with open(tmp_path / "ex05_attention.py", "wb") as file:
        file.truncate(2**40)
    with pytest.raises(CourseError, match=r"has 1,099,511,627,776 bytes; .* has 67,108,864 at most"):
        YourCode.read([tmp_path / "ex05_attention.py"])
