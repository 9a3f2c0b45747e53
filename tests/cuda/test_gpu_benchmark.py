"""benchmarks/gpu.py, the script for the first hour on a card: every line of it is run here before that hour comes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from pretended import pretended_gpu

from minalbert.backend import cuda_missing

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SIDES = {
    "kernels, bf16": {"milliseconds": 40.0, "host": 3.0, "bytes": 1e10, "share": 0.44},
    "kernels, bf16, graph": {"milliseconds": 36.0, "host": 0.2, "bytes": 1e10, "share": 0.49},
    "PyTorch eager, bf16": {"milliseconds": 45.0, "host": 20.0, "bytes": 2e10, "share": 0.4},
    "torch.compile, bf16": {"milliseconds": 34.0, "host": 2.0, "bytes": 2e10, "share": 0.5},
}


def script(*arguments, **environment):
    command = [sys.executable, str(BENCHMARKS / "gpu.py"), *arguments]
    environment = os.environ | {"PYTHONPATH": str(BENCHMARKS.parent), "OMP_NUM_THREADS": "1"} | environment
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.fixture
def modules(monkeypatch):
    """Its files, imported where a GPU is pretended, and forgotten again."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    names = "gpu_clock", "gpu_correct", "gpu_ceilings", "gpu_steps", "gpu_report"
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pretended_gpu():
        yield {name: __import__(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


def test_a_dry_run_writes_the_whole_report(tmp_path):
    done = script("--dry-run", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    assert done.stdout.strip() == str(path)
    assert path.name.endswith("-gpu-pretended.md")
    text = path.read_text()
    assert text.startswith("# PRETENDED, no figure is of a GPU: pretended, 2")
    for said in ("| NumPy |", "test_launch.py -k pretended |", "| float64, plain |", "## What the card can do", "TB/s",
                 "### 4 × 8", "| plain CuPy, float32 |", "| kernels, TF32 |", "| kernels, bf16, graph |", "## Goals",
                 "| square 16 -> 16, weights |"):  # fmt: skip
        assert said in text, said
    assert "Error" not in text
    assert "nothing to compare" not in text
    assert text.count("| passed |") == 7


@pytest.mark.skipif(cuda_missing() is None, reason="there is a GPU")
def test_without_a_gpu_it_is_one_sentence_and_code_2():
    done = script()
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == f"nothing can be measured: {cuda_missing()}\n"


@pytest.mark.parametrize(("code", "error"), [(1, 0.001), (0, 0.5), (0, float("nan"))])
def test_a_wrong_result_ends_it(modules, monkeypatch, tmp_path, code, error):
    """Nothing is timed, the report says what is wrong, the code is 1."""
    monkeypatch.setattr(modules["gpu_correct"], "device_tests", lambda **_: [("pytest tests", "a line", code)])
    monkeypatch.setattr(modules["gpu_correct"], "gradients", lambda *_: [("bf16", error, 0.04)])
    main = load()
    assert main["main"](["--dry-run", "--out", str(tmp_path)]) == 1
    (path,) = tmp_path.iterdir()
    text = path.read_text()
    assert f"| pytest tests | a line | {'**exit code 1**' if code else 'passed'} |" in text
    assert f"| bf16 | {error:.1e} | 4e-02 | {'passed' if error < 0.04 else '**wrong**'} |" in text
    assert text.endswith("Nothing was timed: the results are not right.\n")


def load():
    """gpu.py, as names."""
    names = {"__name__": "gpu_script", "__file__": str(BENCHMARKS / "gpu.py")}
    exec(compile((BENCHMARKS / "gpu.py").read_text(), "gpu.py", "exec"), names)
    return names


def test_all_tests_that_take_a_device_are_run(modules, monkeypatch):
    commands = []
    monkeypatch.setattr(modules["gpu_correct"], "run", commands.append)
    modules["gpu_correct"].device_tests()
    files, kernels = commands
    assert files[-4:] == ["--device", "cuda", "-k", "cuda"]
    assert {"test_backend.py", "test_model.py", "test_optim.py", "test_layers.py"} <= {Path(x).name for x in files[:-4]}
    assert kernels == ["tests/cuda", "-k", "real"]


def test_a_kernel_that_is_wrong_is_seen(modules, monkeypatch):
    from minalbert.kernels.gpu import Kernels

    config, (right, wrong) = modules["gpu_clock"].SMALL, ([], [])
    right += modules["gpu_correct"].gradients(config, 2, 8)
    forward = Kernels.gelu_forward
    monkeypatch.setattr(Kernels, "gelu_forward", lambda do, u, bias, form, *, out: forward(do, u, bias, "erf", out=out))
    wrong += modules["gpu_correct"].gradients(config, 2, 8)
    assert all(error <= allowed for _, error, allowed in right)
    assert [error <= allowed for _, error, allowed in wrong][:2] == [True, False]  # plain, and kernels of float32


def test_sides_that_fail_or_differ_cost_the_others_nothing(modules):
    steps, sizes = modules["gpu_steps"], modules["gpu_clock"].TINY

    class Wrong:
        bytes = 0

        def __call__(self):
            return np.float32(1.0)

    def fails():
        raise MemoryError("there is none left\nmore lines")

    asked = []

    def peers(params, batch, config, precision):
        asked.append(precision)
        return {f"PyTorch eager, {precision}": fails, f"torch.compile, {precision}": Wrong}

    found = steps.measure(sizes, 2, 8, 1e12, peers)
    assert asked == ["bf16", "TF32"]
    assert found["PyTorch eager, bf16"] == "MemoryError: there is none left"
    assert found["torch.compile, TF32"].startswith("its loss is 1.0, that of kernels, TF32 5.")
    for side in (steps.BF16, steps.GRAPH, steps.TF32, steps.PLAIN):
        assert found[side]["milliseconds"] > 0
        assert found[side]["host"] > 0
        assert found[side]["share"] > 0


def test_what_no_loss_reads_is_not_counted_as_work_of_ours(modules):
    """Two sequences of 8 tokens; the last layer's queries are [CLS] and the masked word."""
    from workloads import Workload

    steps, work, H, F, T = modules["gpu_steps"], Workload(modules["gpu_clock"].SMALL, 2, 8), 16, 24, 8
    of_a_query = 2 * H * H + 2 * T * H + 2 * H * F  # multiply-adds: query, output; scores, context; up, down
    passes, unread = 3, 2 * (8 - 2)
    assert steps.operations(work, ours=False) - steps.operations(work, ours=True) == 2 * passes * unread * of_a_query
    found = steps.measure(modules["gpu_clock"].TINY, 2, 8, 1e12)[steps.BF16]
    assert found["share"] * 1e9 * found["milliseconds"] == pytest.approx(steps.operations(work, ours=True))


def test_the_stages_take_the_same_steps(modules):
    """After three steps the weights agree: the graph's to the last bit with those without one."""
    steps, sizes = modules["gpu_steps"], modules["gpu_clock"].TINY
    from workloads import Workload

    from minalbert import Albert

    params, batch = Albert.init(sizes.config, seed=1).params, Workload(sizes.config, 2, 8).batch()
    weights, gradients = {}, {}
    for stage in (steps.PLAIN, steps.TF32, steps.BF16, steps.GRAPH):
        step = steps.Step(stage, params.to("cuda"), batch.to("cuda"), sizes.config)
        for _ in range(3):
            step()
        gradients[stage] = step.grads.to("cpu").flat
        weights[stage] = step.params.to("cpu").flat - params.flat
    moved = np.linalg.norm(weights[steps.PLAIN])
    assert moved > 0
    np.testing.assert_array_equal(weights[steps.GRAPH], weights[steps.BF16])
    np.testing.assert_array_equal(gradients[steps.GRAPH], gradients[steps.BF16])
    for stage, allowed in ((steps.TF32, 0.01), (steps.BF16, 0.2)):  # steps of 1e-6 are near a weight's last place
        assert np.linalg.norm(weights[stage] - weights[steps.PLAIN]) < allowed * moved


def test_goals_and_predictions(modules):
    report = modules["gpu_report"]
    goals = report.goals({(256, 128): SIDES, (32, 512): {**SIDES, "torch.compile, bf16": "MemoryError"}})
    assert [(round(found, 3), met) if found else None for _, found, met in goals] == [
        (1.25, True), (0.944, False), (0.49, True), (1.25, True), None,
    ]  # fmt: skip
    assert report.predicted("kernels, bf16", 256, 128) == 36.4
    assert report.predicted("kernels, bf16", 128, 128) == 18.2
    assert report.predicted("torch.compile, bf16", 32, 512) == 21.5
    assert report.predicted("kernels, bf16, graph", 256, 128) is None


def test_the_slow_side_is_slow_and_times_are_medians(modules, monkeypatch):
    import time

    clock = modules["gpu_clock"]
    taken = []
    calls = {"slow": lambda: (taken.append("slow"), time.sleep(0.004)), "fast": lambda: taken.append("fast")}
    found = clock.milliseconds(calls, clock.TINY)
    assert found["slow"] > 3.9 > found["fast"]
    assert taken == ["slow", "fast", "slow", "fast", "fast", "slow"]  # a warm-up, then turns
    assert clock.host_milliseconds(calls["slow"], clock.TINY) > 3.9
