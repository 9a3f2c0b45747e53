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


MAY_IMPORT = {                                       # of our own rooms, beside errors
    "errors": set(),
    "backend": set(),
    "config": set(),
    "files": set(),
    "batch": {"backend"},
    "params": {"backend"},
    "layers": {"backend", "layers"},
    "model": {"backend", "layers", "model", "params"},
    "optim": {"backend", "optim", "params"},
    "kernels": {"backend", "kernels", "layers", "optim"},
    "fused": {"backend", "fused", "kernels", "layers", "model", "params"},
    "parallel": {"model", "parallel", "params"},
    "compute": {"fused", "kernels", "model"},
    "encoding": {"backend", "batch", "model", "parallel"},
    "interop": {"backend", "config", "interop", "params"},
    "albert": {"backend", "batch", "compute", "config", "encoding", "interop", "model", "parallel", "params"},
    "__init__": {"albert", "backend", "batch", "config", "model", "params"},
    "data": {"batch", "data", "files"},
    "gradcheck": {"backend", "batch", "config", "fused", "gradcheck", "layers", "model", "params"},
    "analysis": {"analysis", "backend", "config", "params"},
    "plots": {"plots"},
    "train": {"albert", "backend", "batch", "config", "data", "files", "fused", "interop", "layers", "optim",
              "parallel", "params", "train"},
    "commands": {"__version__", "analysis", "backend", "batch", "commands", "config", "data", "gradcheck", "layers",
                 "params", "plots", "train"},
    "__main__": {"commands"},
}  # fmt: skip
LEAVING = {"course", "replaced", "your_code"}  # for a package of their own


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    ours = {name.split(".")[1] for name in imports(path) if name.startswith("minalbert.")}
    if room(path) not in LEAVING:
        assert ours <= MAY_IMPORT[room(path)] | {"errors"}


def test_no_room_below_commands_parses_options_or_draws_a_line_that_moves():
    for path in FILES:
        if room(path) not in {"commands", *LEAVING}:
            assert not {"argparse", "tqdm"} & set(imports(path)), path


def test_settings_end_where_a_run_is_assembled():
    for name in ("loop", "gradient_step", "state", "records", "watch", "checkpoint", "evaluation", "environment"):
        tree = ast.parse((PACKAGE / "train" / f"{name}.py").read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        assert "settings" not in {each.lower() for each in names}, name


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
