"""The shape of the house: which way imports point, what a room may do, its names, and what an import costs."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import minalbert

PACKAGE = Path(minalbert.__file__).parent
COURSE = PACKAGE.parent / "exercises" / "minalbert_course"
FILES = sorted(PACKAGE.rglob("*.py"))
COURSE_FILES = sorted(COURSE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))

# From the bottom up: a room may import the rooms named in its row, which all stand above it here. docs/architecture.md
# has the same table.
MAY_IMPORT = {
    "errors": "",
    "lazy": "",
    "arguments": "errors",
    "capacity": "errors",
    "config": "arguments errors",
    "backend": "errors",
    "files": "errors",
    "array_file": "files",
    "sealed": "errors files",
    "batch": "arguments backend capacity config errors",
    "params": "arguments backend capacity config errors",
    "layers": "backend",
    "optim": "arguments backend errors params",
    "plots": "arguments errors",
    "data": "arguments array_file batch capacity errors files lazy",
    "interop": "arguments backend config errors files params sealed",
    "model": "backend layers params",
    "kernels": "backend capacity errors layers optim",
    "fused": "backend kernels layers model params",
    "compute": "errors fused kernels model",
    "split": "backend errors layers model optim params",
    "gradcheck": "arguments backend batch config errors fused layers model params",
    "parallel": "backend capacity errors model optim params",
    "analysis": "arguments backend config errors layers model parallel params",
    "encoding": "arguments backend batch errors model parallel params",
    "albert": "arguments backend batch compute config encoding errors interop layers model parallel params sealed",
    "train": "albert analysis arguments backend batch capacity config data errors "
    "files fused interop layers lazy optim parallel params sealed split",
    "tasks": "albert arguments backend batch data encoding errors files interop lazy model "
    "parallel params split train",
    "experiments": "albert analysis backend batch config data errors files kernels plots tasks train",
    "__init__": "albert backend batch config errors interop model params",
    "commands": "__init__ analysis arguments capacity config data errors experiments files "
    "fused gradcheck kernels optim parallel params plots tasks train",
    "__main__": "commands",
}  # fmt: skip
MAY_IMPORT = {name: set(row.split()) for name, row in MAY_IMPORT.items()}
MODULE = re.compile(r"minalbert(_course)?(\.\w+)+(:\w+)?")


def room(path):
    """layers/gelu.py -> layers; params.py -> params"""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path):
    """Rooms of ours that a file imports, and the first names of what others wrote; imports by a name in quotes too."""
    here = ["minalbert", *path.relative_to(PACKAGE).with_suffix("").parts][:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from found(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = [name for name in [*base, *(node.module or "").split(".")] if name]
            for alias in node.names:
                yield from found([*module, alias.name])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and MODULE.fullmatch(node.value):
            yield from found(re.split("[.:]", node.value))


def found(module):
    """minalbert.params.count -> a room of ours; a name of minalbert/__init__ counts as its file."""
    if module[0] != "minalbert":
        yield module[0]
    elif len(module) == 1 or module[1] not in ROOMS:
        yield "minalbert.__init__"
    else:
        yield f"minalbert.{module[1]}"


ROOMS = {room(path) for path in FILES}


def rooms_imported(path):
    return {name.split(".")[1] for name in imports(path) if name.startswith("minalbert.")} - {room(path)}


def test_every_room_has_a_row():
    assert set(MAY_IMPORT) == ROOMS


def test_no_row_allows_an_arrow_upwards():
    below = set()
    for name, row in MAY_IMPORT.items():
        assert row <= below, f"{name} may import {row - below}, which stand above it"
        below.add(name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    assert rooms_imported(path) <= MAY_IMPORT[room(path)]


def test_no_row_allows_what_nobody_imports():
    used = defaultdict(set)
    for path in FILES:
        used[room(path)] |= rooms_imported(path)
    assert {name: row - used[name] for name, row in MAY_IMPORT.items() if row - used[name]} == {}


def test_no_file_imports_itself_by_way_of_others():
    """Within a room, too, the files form no circle."""
    graph = {}
    for path in FILES:
        here = path.relative_to(PACKAGE).with_suffix("").parts
        inside = {other.relative_to(PACKAGE).with_suffix("").parts for other in FILES}
        graph[here] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = (*here[: len(here) - node.level], *(node.module or "").split("."))
                base = tuple(name for name in base if name)
                graph[here] |= {(*base, alias.name) for alias in node.names} & inside
                graph[here] |= {base} & inside
    assert circle(graph) == []


def circle(graph):
    """The files that import one another, each the next; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_library_never_imports_the_course(path):
    assert not {"minalbert_course", "exercises"} & set(imports(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_library_for_one_room_stays_there(path):
    """CuPy where arrays are told apart and kernels launched; what draws a screen or reads options, in commands."""
    others = set(imports(path))
    assert "cupy" not in others or room(path) in ("backend", "kernels")
    assert "matplotlib" not in others or room(path) == "plots"
    assert not {"argparse", "tqdm"} & others or room(path) == "commands"


def test_imports_by_name_are_few_and_in_sight():
    """The names that these files import are whole strings, which `imports` sees; entry points are other packages'."""
    found = {path.relative_to(PACKAGE).as_posix() for path in FILES
             if {"import_module", "__import__"} & {node.attr if isinstance(node, ast.Attribute) else node.id
                                                   for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                                                   if isinstance(node, ast.Attribute | ast.Name)}}  # fmt: skip
    assert found == {"__init__.py", "lazy.py", "commands/__init__.py"}


def test_layers_ask_their_arguments_which_library():
    """No `np.` in a layer, but for tables made on the host."""
    for path in (PACKAGE / "layers").glob("*.py"):
        if path.name != "erf.py":
            assert "numpy" not in set(imports(path)), path.name


def test_one_line_adds_gradients_to_names_in_the_plain_model():
    found = []
    for path in (PACKAGE / "model").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = node.targets if isinstance(node, ast.Assign) else []
            assert not any(isinstance(t, ast.Subscript) and ast.unparse(t.value) == "grads" for t in targets), path.name
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target).startswith("grads["):
                found.append(path.name)
    assert found == ["gradients.py"]


def test_fused_and_split_files_are_twins_of_the_plain_ones():
    """The same names in the same files, in the same order, so that a diff shows what fusion or splitting changes."""

    def functions(path):
        names = [node.name for node in ast.parse(path.read_text(encoding="utf-8")).body
                 if isinstance(node, ast.FunctionDef)]  # fmt: skip
        return [name for name in names if name.endswith(("_forward", "_backward"))]

    for name in ("embeddings", "block", "heads"):
        for room in ("fused", "split"):
            twin, plain = functions(PACKAGE / room / f"{name}.py"), functions(PACKAGE / "model" / f"{name}.py")
            assert twin == [function for function in plain if function in twin] != []
    exchangeable = {name for name in ("embeddings", "attention_half", "ffn_half", "mlm_loss", "sop_loss")}
    there = {name.rsplit("_", 1)[0] for file in ("embeddings", "block", "heads")
             for name in functions(PACKAGE / "fused" / f"{file}.py")}  # fmt: skip
    assert there == exchangeable


def test_settings_end_where_a_run_is_assembled():
    for name in ("loop", "gradient_step", "state", "records", "watch", "checkpoint", "evaluation", "environment"):
        tree = ast.parse((PACKAGE / "train" / f"{name}.py").read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        assert "settings" not in {each.lower() for each in names}, name


def test_no_class_name_twice():
    homes = defaultdict(list)
    for path in FILES + COURSE_FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(PACKAGE.parent).as_posix())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


OPENED_ELSEWHERE = {
    "files.py": ("open os.open tomllib.loads", "the door"),
    "array_file.py": ("os.open", "the door of arrays that are too large for memory"),
    "capacity.py": ("Path(name).read_text", "what the system says of its memory"),
    "commands/bench.py": ("open", "/proc/cpuinfo"),
    "data/documents.py": ("open gzip.open", "users' own texts"),
    "data/sources.py": ("open gzip.open", "users' own texts"),
    "interop/safetensors_files.py": ("safetensors.safe_open", "weights, which a library reads"),
    "kernels/gpu/launch.py": ("path.read_text", "our CUDA sources"),
    "plots/explorer.py": ("Path(__file__).with_suffix('.js').read_text", "our script"),
    "plots/moving.py": ("Path(__file__).with_name(f'{name}.js').read_text", "our scripts"),
    "parallel/heartbeat.py": ("os.open path.read_text", "a word of a rank, gone with it"),
    "train/environment.py": ("open", "/proc/cpuinfo"),
    "train/process.py": ("os.open", "the lock of a run"),
    "train/reserve.py": ("os.open", "writes a file of zeros"),
    "train/log.py": ("open", "adds lines to a log"),
}
OPENERS = {"np.load", "np.memmap", "np.fromfile", "np.loadtxt", "np.genfromtxt", "json.load", "pickle.load",
           "tomllib.load", "tomllib.loads", "safetensors.safe_open",
           "safetensors.numpy.load_file", "os.open", "gzip.open", "io.open", "open"}  # fmt: skip


def opens(path):
    """The names of all calls in a file that open another one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            ends = (").open", "path.open", "file.open", ".read_text", ".read_bytes")
            if (name in OPENERS or name.endswith(ends)) and [*map(ast.unparse, node.args[:1])] != ["os.devnull"]:
                yield name


def test_files_are_read_through_one_door():
    """What the program wrote is read by the functions of files.py, which compare it with what was recorded."""
    found = {path.relative_to(PACKAGE).as_posix(): {*opens(path)} for path in FILES}
    allowed = {name: {*calls.split()} for name, (calls, _) in OPENED_ELSEWHERE.items()}
    assert {name: calls for name, calls in found.items() if calls} == allowed


def test_docstrings_say_what_a_function_does():
    found = []
    for path in FILES + COURSE_FILES + TESTS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            documented = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)
            text = (documented and ast.get_docstring(node)) or ""
            if re.match(r"(Of|What is|Whether|How many) ", text):
                found.append(f"{path.name}: {text.splitlines()[0]}")
    assert found == []


def test_classes_of_tasks_say_what_they_are():
    nodes = [node for path in FILES if path.parent.name == "tasks"
             for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]  # fmt: skip
    silent = {node.name for node in nodes if isinstance(node, ast.ClassDef) and not ast.get_docstring(node)}
    assert silent <= {"Sweep", "SweptRun"}


def test_functions_are_as_long_as_an_idea():
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno - node.lineno < 60, f"{path.name}: {node.name}"


def test_importing_brings_in_nothing_heavy():
    script = (
        "import sys, minalbert\n"
        "from minalbert import PRESETS, Albert, data, gradcheck, plots, train\n"
        "heavy = {'cupy', 'torch', 'matplotlib', 'transformers', 'scipy', 'pytest', 'tqdm', 'safetensors', 'numba',\n"
        "         'sentencepiece', 'argparse'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
