"""The files one reads are the files that run: a print in any layer prints, and few calls lie before it."""

import ast
import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import minalbert
from minalbert import PRESETS, Albert, Batch
from minalbert.model import embeddings

PACKAGE = Path(minalbert.__file__).parent
README = PACKAGE.parent / "README.md"
NEAR, FAR = "embedding_forward", "loss_and_grads"


def printing_copy(folder):
    """The package, with a print as the first line of every function in layers/."""
    copy = folder / "minalbert"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (copy / "layers").glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        functions = [node for node in ast.parse("\n".join(lines)).body if isinstance(node, ast.FunctionDef)]
        for function in reversed(functions):
            first = function.body[0]
            lines.insert(first.lineno - 1, f"{' ' * first.col_offset}print('in layers/{path.name}')")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return copy


def printed_by(copy, *command):
    environment = os.environ | {"PYTHONPATH": str(copy.parent), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, *command], env=environment, cwd=copy.parent, capture_output=True, encoding="utf-8", check=False
    )
    assert result.returncode == 0, result.stderr
    return {line.removeprefix("in ") for line in result.stdout.splitlines() if line.startswith("in layers/")}


def files_of_layers():
    """All of layers/, but for the error function, which BERT's GELU calls, attention for long texts, tasks' losses."""
    return {f"layers/{path.name}" for path in (PACKAGE / "layers").glob("*.py")} - {
        "layers/__init__.py", "layers/erf.py", "layers/sparse_attention.py", "layers/squared_error.py",
        "layers/binary_cross_entropy.py",
    }  # fmt: skip


def test_a_print_in_any_layer_prints_in_readmes_first_example(tmp_path):
    code = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert "loss_and_grads" in code
    copy = printing_copy(tmp_path)
    assert printed_by(copy, "-c", code) == files_of_layers()
    erf = code.replace('PRESETS["tiny"]', 'PRESETS["tiny"].replace(hidden_act="gelu")')
    assert printed_by(copy, "-c", erf) == files_of_layers() | {"layers/erf.py"}
    local = code.replace('PRESETS["tiny"]', 'PRESETS["tiny"].replace(attention="local")')
    assert printed_by(copy, "-c", local) == files_of_layers() | {"layers/sparse_attention.py"}


@pytest.mark.slow
def test_a_print_in_any_layer_prints_in_the_demo(tmp_path):
    copy = printing_copy(tmp_path)
    command = "-m", "minalbert", "demo", "--kernels", "plain", "--steps", "1", "--out", str(tmp_path / "demo")
    assert printed_by(copy, *command) >= files_of_layers()


def test_at_most_six_calls_lead_from_the_model_to_the_first_layer(monkeypatch):
    stacks = []

    def noting(*args):
        stacks.append([frame.function for frame in inspect.stack()])
        return embedding_forward(*args)

    embedding_forward = embeddings.embedding_forward
    monkeypatch.setattr(embeddings, NEAR, noting)
    Albert.init(PRESETS["tiny"]).loss_and_grads(Batch.random(PRESETS["tiny"], 8, 32, 5))
    (names,) = stacks
    assert names[0] == "noting"
    assert 1 <= names.index(FAR) <= 6, names[: names.index(FAR) + 1]
