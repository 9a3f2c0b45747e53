"""Student's files: the untouched ones, which one is meant, and how one is run.

A notebook is run as its code cells one after the other, a Python file as its statements.
"""

import __future__

import ast
import contextlib
import io
import json
import re
import sys
import textwrap
import tokenize
import types
import warnings
from contextlib import redirect_stdout
from pathlib import Path

from .errors import CourseError
from .handout import FUNCTION, handed_out
from .here import last_line, place_of
from .notebook import as_notebook
from .withholding import withholding

LARGEST = 2**26                                      # bytes: a notebook with figures has some 2**22
FUTURE = __future__.annotations.compiler_flag        # the one that still changes anything
ANSWER = "*Your answer:*"                            # a person marks what stands in its place
FORMULA = re.compile(r"\$\$(.*?)\$\$", re.S)
TYPESETTING = {r"_\\text(?=\{)": "_", r"\\(?:mathrm|text)\{([^}]*)\}": r"\1", r"\\[Bb]ig[lr]?": "",
               r"\\quad|\\[,;]": " ", r"\\_": "_"}  # fmt: skip


def untouched(lesson, notebook=False):
    """(file name, text) of the file a student starts with."""
    name = f"{stem(lesson)}.py"
    text = handed_out()[name] + ending(lesson)
    return (f"{stem(lesson)}.ipynb", as_notebook(text)) if notebook else (name, text)


def ending(lesson):
    """The last cells of every exercise: what is checked, and the check."""
    badges = ", ".join(f"{check.title} {check.points:g}" for check in lesson.checks)
    listed = "\n".join(f"# {line}".rstrip() for line in textwrap.wrap(f"{lesson.points:g} points: {badges}.", 110))
    return (
        f"\n# %% [markdown]\n# {ANSWER}\n\n# %% [markdown]\n# ## Check\n#\n{listed}\n#\n"
        f"# In a terminal: `minalbert exercise check {lesson.exercise}`, and for a hint "
        f"`minalbert exercise hint {lesson.exercise}`.\n\n"
        f'# %%\nfrom minalbert_course import check\n\ncheck("{lesson.name}", globals())\n'
    )


def as_handed_out(path):
    """True if nobody has written into the file yet."""
    from .catalogue import find

    path = Path(path)
    try:
        name, text = untouched(find(path.stem), path.suffix == ".ipynb")
    except CourseError:                              # ex05_attention-Copy1.ipynb, of Jupyter's
        return False
    return name == path.name and text.split() == path.read_text(encoding="utf-8", errors="replace").split()


def stem(lesson):
    """ex05_attention: what the file of a lesson is called, without its suffix"""
    from .catalogue import find

    for name in handed_out():
        if name.startswith("ex") and find(Path(name).stem) is lesson:
            return Path(name).stem
    raise CourseError(f"{lesson.name} has no file to start from in this installation of minalbert")


def hints(lesson):
    """function -> its three hints"""
    return json.loads(handed_out()["hints.json"])[stem(lesson)]


def formulas(lesson, function):
    """The formulas above a function, a line each: those of its section, or if it has none, of the exercise's start."""
    text = handed_out()[f"{stem(lesson)}.py"]
    place = next(match.start() for match in FUNCTION.finditer(text) if match[1] == function)
    start, *sections = re.sub(r"^# ?", "", text[:place], flags=re.M).split("\n## ")
    found = FORMULA.findall(sections[-1] if sections else start) or FORMULA.findall(start)
    for old, new in TYPESETTING.items():
        found = [re.sub(old, new, formula) for formula in found]
    return [" ".join(line.split()) for formula in found for line in formula.split(r"\qquad")]


def locate(lesson, given=None, folder="."):
    """The student's file of this exercise, whichever variant it is of."""
    if given is not None:
        path = Path(given)
        if not path.is_file():
            raise CourseError(f"{given} is not a file; name the one with your answers")
        if path.suffix not in (".py", ".ipynb"):
            raise CourseError(f"{given} is neither a Python file nor a notebook")
        return path
    found = there(lesson, folder)
    if not found:
        raise CourseError(
            f"there is no {lesson.exercise}_*.py here, in {Path(folder).resolve()}; `minalbert exercise start "
            f"{lesson.exercise}` writes one"
        )
    if len(found) > 1:
        found = [path for path in found if not as_handed_out(path)] or found
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise CourseError(
            f"there are several files of {lesson.exercise}: {names}; say which one you mean: "
            f"minalbert exercise check {lesson.exercise} {found[0].name}"
        )
    return found[0]


def there(lesson, folder="."):
    """Files of this exercise, whichever variant they are of."""
    paths = [path for suffix in (".py", ".ipynb") for path in Path(folder).glob(f"{lesson.exercise}_*{suffix}")]
    return sorted(path for path in paths if path.is_file())


def code(path):
    """[the Python of a file, or of each code cell of a notebook]"""
    path = Path(path)
    if not path.is_file():                           # a pipe or a device might never end
        raise CourseError(f"{path} is not a file; name a Python file or a notebook")
    if (size := path.stat().st_size) > LARGEST:
        raise CourseError(f"{path} has {size:,} bytes; a Python file or a notebook has {LARGEST:,} at most")
    if path.suffix == ".py":
        return [python(path)]
    try:
        cells = json.loads(path.read_text(encoding="utf-8-sig"))["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except UnicodeDecodeError as error:
        raise CourseError(f"{path.name} is not a text file (UTF-8)") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise CourseError(f"{path.name} is not a notebook: its JSON breaks at {place}; save it in Jupyter") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{path.name} is not a notebook: {' '.join(str(error).split())[:200]}") from error


def mentions(path, pattern):
    """Is there something like this in the Python of a file? False if there is none that can be read"""
    try:
        return any(map(pattern.search, code(path)))
    except (CourseError, OSError):
        return False


def python(path):
    """The text of a Python file: UTF-8, or what its coding cookie says."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (UnicodeDecodeError, SyntaxError, LookupError) as error:
        raise CourseError(f"{path.name} is not a text file in UTF-8, nor in what a first line # coding: ... says"
                          ) from error  # fmt: skip


def run(path, withheld=()):
    """(namespace, remark): what running the file leaves behind, and what stopped part of it.

    What it prints is not shown. A cell of a notebook that stops leaves the others alone; so does a statement of a
    Python file, such as an assert in its middle.
    """
    module = types.ModuleType("submission")
    module.__file__ = str(path)
    notebook, remarks = Path(path).suffix == ".ipynb", []
    with listed(module), warnings.catch_warnings(), redirect_stdout(io.StringIO()), withholding(withheld):
        warnings.simplefilter("ignore")
        for number, source in enumerate(code(path), 1):
            name = f"{path}, code cell {number}" if notebook else str(path)
            remarks += run_source(without_magics(source) if notebook else source, name, vars(module), notebook)
    return vars(module), "; ".join(remarks[:2])


@contextlib.contextmanager
def listed(module):
    """Among Python's modules, where a dataclass looks for its own."""
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.modules.pop(module.__name__, None)


def without_magics(source):
    """A cell without Jupyter's own commands: lines that begin with % or !, unless it is Python as it stands."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in source.splitlines())
    return source


def run_source(source, name, namespace, as_one):
    """Run a cell as one piece, or a file statement by statement; what stopped, in words."""
    try:
        whole = compile(source, name, "exec", dont_inherit=True)
        if as_one:
            return run_piece(whole, name, namespace)
        future = whole.co_flags & FUTURE
        pieces = [compile(ast.Module([statement], []), name, "exec", future, dont_inherit=True)
                  for statement in ast.parse(source).body]  # fmt: skip
    except SyntaxError as error:
        text = (error.text or "").strip()
        return [f"{Path(name).name} is not Python: line {error.lineno}: {error.msg}" + (f": {text}" if text else "")]
    except Exception as error:                       # a null byte; nested too deeply
        return [last_line(Path(name).name, error, name)]
    return [remark for piece in pieces for remark in run_piece(piece, name, namespace)]


def run_piece(piece, name, namespace):
    try:
        exec(piece, namespace)
    except NotImplementedError:                      # something tried that is not written yet
        return []
    except SystemExit as error:
        return [f"{Path(name).name} calls sys.exit{place_of(error, name)}, which ends the program; take that line out"]
    except Exception as error:
        return [last_line(Path(name).name, error, name)]
    return []
