"""Which checks see a change of a solution: those that reach a changed statement.

The others would do again what they did for the solution. Which functions a check calls is noted while it marks the
solution; what these use, by name, follows from the solution's text. A statement that may act beyond the names that it
defines concerns every check: one that calls something, writes into something, or uses a variable of the file.
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

ALWAYS = ""                                          # in place of a name: what concerns every check


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
    """{title of a check: Seen}"""
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
    """The names that these functions use, by way of others of the file, too."""
    found, todo, table = {ALWAYS, *called}, [ALWAYS, *called], statements(text)
    while todo:
        used = table.get(todo.pop(), NOTHING).names - found
        found |= used
        todo += used
    return frozenset(found)


class Statements(NamedTuple):
    code: str
    names: set                                       # that stand in them


NOTHING = Statements("", set())


@functools.cache
def statements(text):
    """{name: the Statements that define it}; ALWAYS has those that concern every check."""
    found, body = {}, ast.parse(text).body
    variables = {target.id for statement in body if isinstance(statement, ast.Assign) for target in statement.targets
                 if isinstance(target, ast.Name)}  # fmt: skip
    for statement in body:
        names = set() if isinstance(statement, ast.Expr | ast.If) else names_in(statement)     # run once, at the import
        for name in defined_by(statement, variables) or {ALWAYS}:
            before = found.get(name, NOTHING)
            found[name] = Statements(before.code + ast.dump(statement), before.names | names)
    return found


def names_in(statement):
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def defined_by(statement, variables):
    """The names that a statement defines; none where it may do more."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return set() if names_in(statement) & variables or writes_outside(statement) else {statement.name}
    if isinstance(statement, ast.ImportFrom) and (statement.module == "__future__" or statement.names[0].name == "*"):
        return set()
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    return set()


def writes_outside(statement):
    """Does it write a `global`, or an attribute of what it was not given and did not make?"""
    nodes = list(ast.walk(statement))
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    written = [node.value for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return any(isinstance(node, ast.Global) for node in nodes) or any(
        not (isinstance(node, ast.Name) and node.id in own) for node in written)  # fmt: skip
