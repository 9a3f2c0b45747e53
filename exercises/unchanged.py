"""Which checks see a change of a solution: those that reach a changed statement.

The others would do again what they did for the solution. Which functions a check calls is noted while it marks the
solution; what these use, by name, follows from the solution's text.
"""

import ast
import functools
import tempfile
from pathlib import Path
from typing import NamedTuple

from minalbert_course import files
from minalbert_course.here import Here
from minalbert_course.marking import Outcome, outcome
from minalbert_course.yours import Yours

ALWAYS = ""


class Seen(NamedTuple):
    outcome: Outcome
    names: frozenset                                 # of the file, that the check reaches


class Noting(Here):
    """Notes which functions are called."""

    def call(self, name, args, static, opaque):
        self.called.add(name)
        return super().call(name, args, static, opaque)


@functools.cache
def of_solution(source, term):
    """{title of a check: what it Seen}"""
    lesson, text = source.lesson, source.solution()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.path.name
        path.write_text(text, encoding="utf-8")
        host, found = Noting(files.run(path, lesson.withheld)[0], path, lesson.withheld), {}
        yours = Yours(lesson, host)
        for check in lesson.checks:
            host.called = set()
            marked = outcome(lesson, check, yours, term)
            found[check.title] = Seen(marked, reached(text, host.called))
    return found


def known(source, text, term):
    """{title of a check: its Outcome} of the checks that do not reach what differs between the solution and a text."""
    before, after = (statements(each) for each in (source.solution(), text))
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {title: seen.outcome for title, seen in of_solution(source, term).items() if not changed & seen.names}


def reached(text, called):
    """The names of a file's statements that these functions use, by way of others, too."""
    found, todo, table = {ALWAYS, *called}, list(called), statements(text)
    while todo:
        used = table[todo.pop()].names & table.keys() - found
        found |= used
        todo += used
    return frozenset(found)


class Statements(NamedTuple):
    says: str
    names: set                                       # that stand in them


def statements(text):
    """{name: the Statements that define it}; ALWAYS has those that define none, and concern all."""
    found = {}
    for statement in ast.parse(text).body:
        names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        for name in defined_by(statement) or {ALWAYS}:
            before = found.get(name, Statements("", set()))
            found[name] = Statements(before.says + ast.dump(statement), before.names | names)
    return found


def defined_by(statement):
    """The names that a statement defines; none where it may do more, as an import of a star or of the future."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.ImportFrom) and (statement.module == "__future__" or statement.names[0].name == "*"):
        return set()
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and type(node.ctx) is ast.Store}
    return set()
