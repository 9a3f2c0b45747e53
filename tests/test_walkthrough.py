"""The walkthrough shows all of layers/ and model/, and six files around them, once; its examples print what it says;
its links lead somewhere."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest

import minalbert
from minalbert_course.catalogue import all_lessons

PACKAGE = Path(minalbert.__file__).parent
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
WALK = ROOT / "docs" / "walkthrough"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(WALK.glob("*.md"))}
PAGES = re.search(r"```\{toctree\}\n:hidden:\n\n(.*?)```", TEXTS["index"], re.DOTALL)[1].split()
AROUND = ("data/pairs.py", "data/masking.py", *(f"optim/{name}.py" for name in ("clip", "adamw", "lamb", "schedule")))
FILES = [path for room in ("layers", "model") for path in sorted((PACKAGE / room).glob("[a-z]*.py"))]
FILES += [PACKAGE / name for name in AROUND]
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
MATHS = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)


def included(text):
    """(file, options) of each piece of code that a page takes from the package."""
    for source, options in re.findall(r"```\{literalinclude\} /source/minalbert/(\S+)\n(.*?)```", text, re.DOTALL):
        yield source, dict(re.findall(r"^:([\w-]+): (.*?) *$", options, re.MULTILINE))


def begin(statement):
    return min([statement.lineno, *(decorator.lineno for decorator in getattr(statement, "decorator_list", ()))])


def lines_shown(source, options):
    text = (PACKAGE / source).read_text(encoding="utf-8")
    if "pyobject" in options:
        (found,) = (node for node in ast.parse(text).body if getattr(node, "name", None) == options["pyobject"])
        return set(range(begin(found), found.end_lineno + 1))
    numbered = list(enumerate(text.splitlines(), 1))
    start = next(number for number, line in numbered if options["start-at"] in line)
    end = next(number for number, line in numbered[start - 1 :] if options["end-at"] in line)
    return set(range(start, end + 1))


def test_every_file_has_a_page_in_the_order_of_the_readme():
    """The README's afternoon has fewer files, in the same order."""
    readme = re.findall(r"^\| \d+ \| \[`(?:layers|model)/([a-z]\w*)\.py`\]", README, re.MULTILINE)
    assert len(readme) >= 15
    assert readme == [page for page in PAGES if page in readme]
    assert sorted(path.stem for path in FILES) == sorted(PAGES)
    assert sorted(TEXTS) == sorted([*PAGES, "index"])
    assert re.findall(r"^\d+\. \[.*?\]\((\w+)\.md\): ", TEXTS["index"], re.MULTILINE) == PAGES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_of_a_file_is_shown_once_and_on_its_page(path):
    name = path.relative_to(PACKAGE).as_posix()
    pieces = [(page, piece) for page, text in TEXTS.items() for piece in included(text)]
    shown = [(page, lines_shown(*piece)) for page, piece in pieces if piece[0] == name]
    assert {page for page, _ in shown} == {path.stem}
    _docstring, *statements = ast.parse(path.read_text(encoding="utf-8")).body
    for statement in statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            lines = set(range(begin(statement), statement.end_lineno + 1))
            assert sum(lines <= those for _, those in shown) == 1, f"{name}, line {statement.lineno}"


@pytest.mark.parametrize("page", PAGES)
def test_an_example_prints_what_stands_below_it(page):
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXTS[page], re.DOTALL)
    assert len(examples) == TEXTS[page].count("```python") >= 1
    names = {}
    for code, printed in examples:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, names)
        assert out.getvalue() == printed


@pytest.mark.parametrize("page", TEXTS)
def test_links_and_exercises_exist_and_maths_stays_in_formulas(page):
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", TEXTS[page]):
        assert (WALK / link).exists(), link
    assert set(re.findall(r"exercise start (\S+?)`", TEXTS[page])) <= set(all_lessons())
    prose = re.sub(r"`[^`]*`", "", MATHS.sub("", FENCED.sub("", TEXTS[page])))
    assert not re.findall(r"\\\w+|\$|[_^]\{", prose)


def test_the_contract_is_that_of_the_layers():
    contract = re.search(r"```text\n(.*?)```", TEXTS["index"], re.DOTALL)[1]
    source = (PACKAGE / "layers" / "__init__.py").read_text(encoding="utf-8")
    assert all(line in source for line in contract.splitlines())
