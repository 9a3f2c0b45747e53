"""Every notebook runs, what is committed is what it prints, and it uses the public names."""

import ast
import importlib.util
import json
import os
import re
import zipfile
from math import log10
from pathlib import Path

import pytest

import minalbert
from exercises.percent import executed, notebook_of, notebook_text

ROOT = Path(__file__).parent.parent / "notebooks"
SOURCES = sorted(ROOT.glob("[0-9][0-9]_*.py"))
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?: ?%)?")
PUBLIC = {"minalbert", *(f"minalbert.{room}" for room in minalbert.ROOMS)}
LONG_LINES = {"09_pretraining", "18_paper"}
SUBJECTS = {  # files that a notebook is about, and therefore imports from
    "02_gradient_check": {"minalbert.gradcheck.compare", "minalbert.gradcheck.numeric"},
    "04_attention": {"minalbert.gradcheck.numeric"},
    "05_sharing": {"minalbert.model", "minalbert.model.block", "minalbert.model.encoder"},
    "06_data": {"minalbert.data.chunks", "minalbert.data.random_draws"},
    "10_inside": {"minalbert.analysis.smoothness", "minalbert.experiments"},
    "11_gpu": {"minalbert.backend", "minalbert.model"},
    "12_released_model": {"minalbert.interop.state_dict"},
    "18_paper": {"minalbert.experiments", "minalbert.experiments.intervals", "minalbert.experiments.tables"},
}


def build():
    spec = importlib.util.spec_from_file_location("notebooks_build", ROOT / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The environment of a kernel that finds minalbert as a wheel brings it, and not this repository."""
    builders = pytest.importorskip("hatchling.builders.wheel", reason="hatchling, which makes the wheel, is missing")
    folder = tmp_path_factory.mktemp("wheel")
    [wheel] = builders.WheelBuilder(str(ROOT.parent)).build(directory=str(folder), versions=["standard"])
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return os.environ | {"PYTHONPATH": str(folder / "site")}


@pytest.mark.parametrize("package", ["minalbert", "minalbert_course"])
def test_a_kernel_finds_the_wheel(package, installed):
    notebook = executed(notebook_of(f"# %%\nimport {package}; print({package}.__file__)"), environment=installed)
    assert notebook.cells[0].outputs[0].text.startswith(installed["PYTHONPATH"])


def test_the_wheel_has_the_files_that_students_start_from(installed):
    site = Path(installed["PYTHONPATH"])
    there = {path.stem for path in (site / "minalbert_course" / "student").glob("ex*.py")}
    assert there == {path.stem for path in (ROOT.parent / "exercises" / "source").glob("ex*.py")}
    assert there


def outputs(notebook):
    """(cell, kinds of what it shows, its text and what its pictures say) of each cell of code."""
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            shown = [(output.get("data", {}), output.get("text", "")) for output in cell["outputs"]]
            kinds = [kind for data, _ in shown for kind in sorted(data)]
            yield number, kinds, "".join("".join(text or data.get("text/plain", "")) for data, text in shown)


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_is_committed_is_what_it_prints(path, installed):
    """Words exactly, and numbers as far as machines agree. A notebook that takes minutes is run with small sizes, and
    then only the kinds of what it shows are compared."""
    pytest.importorskip("nbclient", reason="Jupyter is not installed (pip install 'minalbert[notebooks]')")
    source = path.read_text(encoding="utf-8")
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    cells = notebook_of(source).cells
    assert ["".join(cell["source"]) for cell in committed["cells"]] == [cell.source for cell in cells], "make notebooks"
    fast = "MINALBERT_FAST" in source
    now = build().run(path, installed | {"MINALBERT_FAST": "1"} if fast else installed)
    for (number, kinds, text), (_, kinds_now, text_now) in zip(outputs(committed), outputs(now), strict=True):
        assert kinds == kinds_now, f"cell {number}"
        if not fast:
            assert NUMBER.sub("#", text) == NUMBER.sub("#", text_now), f"cell {number}"
            pairs = zip(NUMBER.findall(text), NUMBER.findall(text_now), strict=True)
            logs = "log₁₀" in text
            assert [pair for pair in pairs if not same(*pair, logs)] == [], f"cell {number}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_is_committed_has_the_text_and_the_code_of_the_source(path):
    assert notebook_text(build().retold(path)) == path.with_suffix(".ipynb").read_text(encoding="utf-8")


def test_text_alone_is_not_written_around_the_outputs_of_other_code(tmp_path):
    for suffix in (".py", ".ipynb"):
        source = SOURCES[0].with_suffix(suffix)
        (tmp_path / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    path = tmp_path / SOURCES[0].name
    path.write_text(path.read_text(encoding="utf-8") + "\n# %%\nprint(1)\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"the code of 00_tour\.py changed"):
        build().retold(path)


def same(was, now, logs=False):
    """Whole numbers exactly. Shares in per cent to one, rounding errors and their logarithms to their size, others to a
    part in fifty or two in the last digit: other machines add in another order."""
    one, other = (float(number.rstrip("% ").replace(",", "")) for number in (was, now))
    if "%" in was:
        return abs(one - other) <= 1
    if "e" in was:
        return abs(one - other) <= max(1e-9, 2 * min(abs(one), abs(other)))
    if logs and "." in was:
        return abs(one - other) <= log10(3)
    if "." in was:
        return abs(one - other) <= max(0.02 * abs(one), 2 * 10.0 ** -len(was.partition(".")[2]))
    return was == now


@pytest.mark.parametrize(
    ("was", "now", "so"),
    [("11,813,810", "11,813,804", False), ("62 %", "63 %", True), ("62%", "64%", False), ("3e-16", "4e-13", True),
     ("3e-16", "9e-04", False), ("1.82e-06", "4e-06", True), ("1.82e-06", "9e-06", False), ("0.502", "0.504", True),
     ("0.502", "0.515", False), ("7.53", "7.60", True), ("12", "13", False)],
)  # fmt: skip
def test_what_counts_as_the_same_number(was, now, so):
    assert same(was, now) == so


def test_logarithms_of_rounding_errors_are_the_same_to_a_factor_of_three():
    assert same("-6.37", "-6.22", logs=True)
    assert not same("-6.37", "-5.80", logs=True)
    assert not same("-6.37", "-6.22")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_first_cell_is_one_line_that_says_what_to_install(path):
    cell = next(cell for cell in notebook_of(path.read_text(encoding="utf-8")).cells if cell.cell_type == "code")
    assert cell.source == "import minalbert  # missing? In a clone: pip install -e '.[notebooks]'"


def asserts(nodes):
    return [isinstance(node, ast.Assert) for node in nodes]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_what_a_cell_asserts_is_hidden_from_readers(path):
    """The site leaves out a cell of this tag, and Jupyter folds it. It changes nothing: it consists of asserts."""
    cells = [cell for cell in notebook_of(path.read_text(encoding="utf-8")).cells if cell.cell_type == "code"]
    hidden = {"tags": ["remove-cell"], "jupyter": {"source_hidden": True}}
    for cell in cells:
        tree, says = ast.parse(cell.source), {name: cell.metadata[name] for name in hidden if name in cell.metadata}
        assert says in ({}, hidden), cell.source
        assert all(asserts(tree.body)) if says else not any(asserts(ast.walk(tree))), cell.source


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_results_are_numbers_and_no_hidden_cell_shows_any(path):
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    for cell, (number, kinds, text) in zip(
        [cell for cell in committed["cells"] if cell["cell_type"] == "code"], outputs(committed), strict=True
    ):
        assert not (cell["metadata"].get("tags") and (kinds or text)), f"cell {number}"
        assert not re.search(r"(?<!=)\b(True|False)\b", text), f"cell {number}"


@pytest.mark.parametrize("path", [path for path in SOURCES if path.stem not in LONG_LINES], ids=lambda path: path.stem)
def test_a_phone_of_390_pixels_shows_every_printed_line_whole(path):
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    printed = [line for cell in committed["cells"] for output in cell.get("outputs", ())
               for line in "".join(output.get("text", "")).splitlines()]  # fmt: skip
    assert printed
    assert [line for line in printed if len(line) > 42] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_imports_public_names_and_the_files_it_is_about(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    deep = {name for name in modules if name.partition(".")[0] == "minalbert"} - PUBLIC
    assert deep == SUBJECTS.get(path.stem, set())


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_has_what_a_lesson_needs(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert "assert" in text, "a number in the text is asserted by a cell"
    assert not re.search(r"^[%!]", text, flags=re.MULTILINE)
    committed = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    shown = [output for cell in committed["cells"] for output in cell.get("outputs", ())]
    alternatives = [output["metadata"]["image/png"]["alt"] for output in shown if "image/png" in output.get("data", {})]
    assert alternatives, "at least one picture"
    assert all(len(text) > 20 for text in alternatives), "each says what it shows"
