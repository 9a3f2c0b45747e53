"""The shape of the house: which way imports point, who may write what, and what an import costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import minalbert

PACKAGE = Path(minalbert.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path):
    """layers/gelu.py -> layers; params.py -> params"""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path):
    """(module, room) for each import: rooms of ours, or the first name of what others wrote."""
    here = ["minalbert", *path.relative_to(PACKAGE).with_suffix("").parts][:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = [*base, *(node.module or "").split(".")]
            module = [part for part in module if part]
            if module[0] != "minalbert":
                yield module[0]
            elif len(module) == 1:
                yield from (f"minalbert.{alias.name}" for alias in node.names)
            else:
                yield f"minalbert.{module[1]}"


MAY_IMPORT = {                                       # of our own rooms
    "backend": set(),
    "config": set(),
    "layers": {"backend", "layers"},
    "batch": {"backend"},
    "params": {"backend", "config"},
    "optim": {"backend", "config", "optim", "params"},
    "files": set(),
    "data": {"backend", "batch", "data", "files"},
    "plots": {"plots"},
    "model": {"backend", "batch", "config", "layers", "params", "model"},
    "kernels": {"backend", "config", "kernels", "layers", "optim"},
    "fast": {"backend", "batch", "config", "fast", "kernels", "layers", "model", "params"},
    "albert": {"backend", "batch", "config", "fast", "interop", "layers", "model", "params"},
    "interop": {"backend", "config", "params", "interop"},
    "analysis": {"analysis", "backend", "config", "params"},
    "train": {"albert", "backend", "batch", "config", "data", "files", "fused", "interop", "layers", "optim",
              "parallel", "params", "train"},
    "gradcheck": {"backend", "batch", "config", "fast", "params", "model", "layers", "gradcheck"},
}  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("minalbert.")}
    allowed = MAY_IMPORT.get(room(path))
    if allowed is not None:
        assert ours <= allowed | {"errors"}
    assert "commands" not in ours or room(path) in ("__main__", "commands", "data")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_only_the_backend_imports_cupy(path):
    assert "cupy" not in set(imports(path)) or room(path) in ("backend", "kernels")


def test_layers_ask_their_arguments_which_library():
    """No `np.` in a layer, but for tables made on the host."""
    for path in (PACKAGE / "layers").glob("*.py"):
        if path.name != "erf.py":
            assert "numpy" not in set(imports(path)), path.name


def test_gradients_are_added_never_assigned():
    for path in (PACKAGE / "model").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                assert not (isinstance(target, ast.Subscript) and ast.unparse(target.value) == "grads"), path.name


def test_only_the_model_accumulates():
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target).startswith("grads["):
                assert room(path) == "model", path.name


def test_functions_are_as_long_as_an_idea():
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 60, f"{path.name}: {node.name}"


def test_importing_brings_in_nothing_heavy():
    script = (
        "import sys, minalbert\n"
        "heavy = {'cupy', 'torch', 'matplotlib', 'transformers', 'scipy', 'pytest', 'tqdm', 'safetensors', 'numba'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""


SILENT = {"analysis", "config", "data", "files", "gradcheck", "interop", "optim", "params", "plots"}


@pytest.mark.parametrize("path", [path for path in FILES if room(path) in SILENT], ids=lambda path: path.name)
def test_only_commands_parse_options_and_draw_on_terminals(path):
    assert not {"argparse", "tqdm", "minalbert.commands"} & set(imports(path))
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    assert not any(isinstance(node, ast.Name) and node.id == "print" for node in nodes)
