"""What students start from: the sources of the exercises without their solutions.

The build of a wheel puts these texts into the package and leaves the sources out: hatch_build.py runs this file by
itself, so it needs Python's own library alone. In a checkout they are made from the sources when they are asked for.

In a source, a function holds its solution between `### BEGIN SOLUTION` and `### END SOLUTION`, and before that three
lines `### HINT`, from idea to almost code.
"""

import json
import re
from pathlib import Path

BUILT = Path(__file__).parent / "student"            # in an installed wheel
SOURCES = Path(__file__).parent.parent / "source"    # in a checkout
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n", re.M | re.S)
HINT = re.compile(r"^[ \t]*### HINT (.*)\n", re.M)
FUNCTION = re.compile(r"^(?:def|class) (\w+)", re.M)


class SourceError(ValueError):
    """A source that breaks the rules above."""


def handed_out():
    """{file name: text}: a Python file for each exercise and variant, and hints.json"""
    if BUILT.is_dir():
        return {path.name: path.read_text(encoding="utf-8") for path in BUILT.glob("*.*")}
    return made_from(SOURCES)


def made_from(folder):
    paths = sorted(folder.glob("ex*.py"))
    hints = {path.stem: hints_of(read(path)) for path in paths}
    files = {path.name: without_solutions(read(path), path.stem[:4]) for path in paths}
    return files | {"hints.json": json.dumps(hints, indent=1, ensure_ascii=False) + "\n"}


def read(path):
    """The text of a source that keeps the rules."""
    text = path.read_text(encoding="utf-8")
    if text.count("### BEGIN SOLUTION") != len(SOLUTION.findall(text)) or "### BEGIN" in SOLUTION.sub("", text):
        raise SourceError(f"{path.name}: BEGIN and END SOLUTION do not take turns")
    return text.rstrip() + "\n"


def without_solutions(text, exercise):
    """Where a solution was, the function raises NotImplementedError."""

    def stub(match):
        function = FUNCTION.findall(match.string[: match.start()])[-1]
        return f'{match[1]}raise NotImplementedError("{exercise}: {function} is not written yet")\n'

    return SOLUTION.sub(stub, HINT.sub("", text))


def hints_of(text):
    """{function: its three hints}"""
    functions = re.split(r"^(?=def |class )", text, flags=re.M)[1:]
    return {FUNCTION.match(block)[1]: hints for block in functions if (hints := HINT.findall(block))}
