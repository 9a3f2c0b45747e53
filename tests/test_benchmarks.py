"""What the benchmarks compare, without the peer: their batches, and the arithmetic of a row."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minalbert import __file__ as library

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
BATCHES = """
import numpy as np
from workloads import WORKLOADS, glue_lengths

for work in WORKLOADS.values():
    batch = work.batch()
    batch.check(work.config)
    assert batch.input_ids.shape == (work.size, work.length)
    assert batch.mlm_labels.shape == (work.size, work.predictions)
    lengths = batch.attention_mask.sum(axis=1)
    assert (batch.mlm_positions < lengths[:, None]).all()
    used = batch.mlm_weights > 0
    assert used.any(axis=1).all() and not batch.mlm_positions[~used].any()
    mean = {None: work.length, "the demo": 24, "GLUE": 30}[work.padding]
    assert abs(lengths.mean() - mean) < 1, (work, lengths.mean())
    again = work.batch()
    assert all(np.array_equal(a, b) for a, b in zip(batch, again))
assert abs(glue_lengths(10_000, 128).mean() - 30) < 0.1
"""
ROW = """
import itertools, comparison

prices = {"product_seconds": 2e-9, "torch_product_seconds": 4e-9, "copy_seconds": 1e-9}
for name, price in prices.items():
    setattr(comparison, name, lambda *_, price=price: price)
durations = {"ours": 3.0, "theirs": 4.0}
ours, theirs = (lambda name=name: name for name in durations)
comparison.seconds = lambda call, block=0.0: durations[call()]
row = comparison.compare("it", ours, theirs, (10**9, 10, False), 3)
assert (row["ours"], row["peer"], row["floor"], row["ratio"]) == (3.0, 4.0, 2.0, 0.75), row
assert [round(rate, 3) for rate in row["rates"]] == [0.5, 0.25]
assert row["equal"] == (3.0 / 2.0) / (4.0 / 4.0), row
row = comparison.compare("it", ours, theirs, (10, 10**9, False), 3)
assert row["floor"] == 1.0 and row["equal"] == row["ratio"], row                # what a copy bounds, it bounds for both
assert len(comparison.line(row)) == len(comparison.HEAD)
"""


@pytest.mark.parametrize("script", [BATCHES, ROW], ids=["batches", "row"])
def test_what_is_compared(script):
    paths = os.pathsep.join(map(str, (BENCHMARKS, Path(library).parents[1])))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system limits no process's cores")
def test_threads_limit_workers_and_libraries():
    script = """
import comparison
from minalbert import PRESETS, Albert, Batch
from minalbert.parallel.threads import threads

model = Albert.init(PRESETS["tiny"])
print(model._workers.count, threads())
"""
    paths = os.pathsep.join(map(str, (BENCHMARKS, Path(library).parents[1])))
    environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    found = subprocess.check_output([sys.executable, "-c", script, "--threads", "1"], env=environment, text=True)
    assert found.split() == ["1", "1"]


def test_predictions_are_counted():
    environment = os.environ | {"PYTHONPATH": str(Path(library).parents[1])}
    words = [sys.executable, str(BENCHMARKS / "predict.py"), "--examples", "30", "--runs", "1", "--json"]
    rows = [json.loads(line) for line in subprocess.check_output(words, env=environment, text=True).splitlines()]
    assert [row["case"] for row in rows] == ["label of a pair", "answer of a text"]
    assert all(row["spread"][0] == row["per_second"] > 0 and 10 < row["tokens"] < 32 for row in rows)


@pytest.mark.slow
def test_the_demos_model_is_tuned_for_three_tasks(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(library).parents[1])}
    words = [sys.executable, str(BENCHMARKS / "finetuning_demo.py"), str(tmp_path), "--seeds", "4", "--json"]
    printed = subprocess.check_output([*words, "--share", "0.002"], env=environment, text=True)
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [(row["task"], row["weights"]) for row in rows] == [
        ("pretraining", "pretrained"), ("order", "pretrained"), ("topic", "pretrained"), ("spans1", "pretrained"),
        ("order", "random"),
    ]  # fmt: skip
    assert all(row["seed"] == 4 and row["seconds"] > 0 and 0 <= row["score"] <= 1 for row in rows)


def test_the_table_of_finetunings_is_that_of_the_stored_results():
    shown = subprocess.run(
        [sys.executable, "finetuning_table.py", "../exercises/minalbert_course/stored/finetuning.jsonl"],
        cwd=BENCHMARKS, env=os.environ | {"PYTHONPATH": str(BENCHMARKS.parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout.count("\n") > 10
    assert shown.stdout in (BENCHMARKS.parent / "docs" / "finetuning.md").read_text(encoding="utf-8")
