"""`minalbert bench`: its table, its recommendation, and that it keeps to its time. What is fast is not tested."""

import json
import os
import re

import numpy as np
import pytest
from test_cli import printed, refused

from minalbert import PRESETS, Albert
from minalbert.analysis import cost
from minalbert.commands import bench
from minalbert.kernels import missing

SMALL = {"tiny, 4 × 8": ("tiny", 4, 8, 0.5, 0.0), "tiny, 2 × 16": ("tiny", 2, 16, 0.3, 0.2)}


@pytest.fixture
def _soon(monkeypatch):
    monkeypatch.setattr(bench, "SIZES", SMALL)
    monkeypatch.setattr(bench, "SECONDS", 0.2)
    monkeypatch.setattr(bench, "product_rate", lambda precision, size, times: {"full": 2.5e11, "bf16": 1e11}[precision])


@pytest.mark.usefixtures("_soon")
def test_a_row_for_each_way_or_the_reason_why_not(capsys):
    lines = printed(capsys, "bench").splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].endswith("cores")
    assert lines[1].startswith("a large product: float32 250 GFLOP/s")
    assert re.match(r"the fastest step: tiny, 4 × 8 \d+ GFLOP/s, tiny, 2 × 16 \d+ GFLOP/s \(see", lines[2])
    for kernels, precision in bench.WAYS:
        (line,) = [line for line in lines if line.startswith(f"{kernels}, {precision}")]
        if reason := missing(kernels, precision, "cpu"):
            assert line == f"{kernels}, {precision}: {reason}"
        else:
            assert len(re.findall(r"[\d.,]+ ms", line)) == 4
    assert lines[lines.index("", 4) + 1].startswith("Of these, take kernels '")
    assert "".join(lines).count(").") == 1


@pytest.mark.usefixtures("_soon")
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system limits no process's cores")
def test_cores_are_those_that_the_process_may_use(capsys, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 6})
    assert json.loads(printed(capsys, "bench", "--json"))["cores"] == 3


@pytest.mark.usefixtures("_soon")
def test_the_rate_of_a_step_is_its_operations_over_its_time():
    """The step: 4 texts of 8 tokens, with one to predict, in the faster of two ways."""
    config = PRESETS["tiny"]
    operations = 4 * (cost.training_operations(config, 8, 1) - 3 * cost.unread_operations(config, 8, 1))
    rows = [row("plain", "full", 2.0, 9.0), row("fused", "full", 0.5, 9.0), row("compiled", "full", None, None)]
    rates = bench.step_rates(rows)
    assert rates["tiny, 4 × 8"] == operations / 0.5


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize("turns", [2, 3])
def test_few_turns_are_told(turns, capsys, monkeypatch):
    monkeypatch.setattr(bench, "in_turns", lambda calls, end: (dict.fromkeys(calls, 1.0), turns))
    assert ("of one or two turns" in printed(capsys, "bench")) == (turns < 3)


@pytest.mark.usefixtures("_soon")
def test_what_is_missing_is_not_timed(capsys, monkeypatch):
    reason = "numba is not installed (pip install 'minalbert[fast]')"
    monkeypatch.setattr(bench, "missing", lambda kernels, precision, device: None if kernels == "plain" else reason)
    result = json.loads(printed(capsys, "bench", "--json"))
    assert result["product_rate"] == {"full": 2.5e11}
    plain, *others = result["rows"]
    assert plain["missing"] is None
    assert list(plain["seconds"]) == list(SMALL)
    assert all(0 < seconds < 5 for times in plain["seconds"].values() for seconds in times.values())
    assert [(row["missing"], row["seconds"]) for row in others] == [(reason, None)] * 4
    assert result["recommendation"].startswith("Of these, take kernels 'plain' in precision 'full' for tiny, 4 × 8 (no")


def row(kernels, precision, *steps):
    seconds = {size: {"step": step} for size, step in zip(SMALL, steps, strict=True)}
    return {"kernels": kernels, "precision": precision, "missing": None, "seconds": seconds if steps[0] else None}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([(10, 10), (8, 9.8), (5, 9.6), (9, 20)],
         "Of these, take kernels 'compiled' in precision 'full' for tiny, 4 × 8 (a step takes 0.50 of plain's time), "
         "kernels 'plain' in precision 'full' for tiny, 2 × 16 (no other is 5 % faster)."),
        ([(10, 10), (5.2, 7), (5, 6), (4.9, 3)],
         "Of these, take kernels 'compiled' in precision 'full' for tiny, 4 × 8 (a step takes 0.50 of plain's time), "
         "kernels 'fused' in precision 'bf16' for tiny, 2 × 16 (a step takes 0.30 of plain's time)."),
        ([(10, 10), (5, 5), (None, None), (4, 5)],
         "Of these, take kernels 'fused' in precision 'bf16' for tiny, 4 × 8 (a step takes 0.40 of plain's time), "
         "kernels 'fused' in precision 'full' for tiny, 2 × 16 (a step takes 0.50 of plain's time)."),
    ],
)  # fmt: skip
def test_the_recommendation_is_the_first_of_those_that_are_as_good_as_the_best(steps, expected, monkeypatch):
    monkeypatch.setattr(bench, "SIZES", SMALL)
    rows = [row(*way, *times) for way, times in zip(bench.WAYS, steps, strict=False)]
    assert bench.recommendation(rows).replace(", and kernels", ", kernels") == expected


@pytest.mark.parametrize(("end", "turns"), [(0, 1), (55, 1), (56, 2), (100, 4), (1e9, 1 + bench.TURNS)])
def test_turns_end_in_time_and_the_first_is_not_counted(end, turns, monkeypatch):
    now, made = [0.0], []

    def call(name, seconds):
        def work():
            made.append(name)
            turn = made.count(name)
            now[0] += seconds * turn + 10 * (turn == 1)

        return work

    monkeypatch.setattr(bench.time, "perf_counter", lambda: now[0])
    found, counted = bench.in_turns({"a": call("a", 2), "b": call("b", 6)}, end)
    assert made == ["a", "b"] * turns
    assert counted == max(1, turns - 1)
    middle = (turns + 2) / 2  # of 2, 3, ..., turns
    assert found == pytest.approx({"a": 2 * middle, "b": 6 * middle} if turns > 1 else {"a": 12, "b": 16})


def test_a_step_has_a_gradient_and_changes_no_weight():
    model = Albert.init(PRESETS["tiny"])
    before = model.params.flat.copy()
    calls = bench.calls_of("step", model, 2, 16, [("plain", "full"), ("fused", "full")])
    grads = model.params.zeros_like()
    step = bench.step_of(model, bench.Batch.random(model.config, 2, 16, 2), grads, bench.Moments.zeros(model.params))
    for call in (*calls.values(), step):
        call()
    assert np.array_equal(model.params.flat, before)
    assert grads.flat.any()


def test_it_takes_no_argument(capsys):
    assert refused(capsys, "bench", "--jsn") == "minalbert: unrecognized arguments: --jsn; did you mean --json?"
