"""All mutants of an exercise's solution, each with a name that stays."""

import ast
import itertools
import tempfile
from pathlib import Path

from minalbert_course import files
from minalbert_course.here import Here, made
from minalbert_course.marking import mark

from ..source import sources
from . import arguments, arithmetic, arrays, flow, memory  # noqa: F401   (they fill OPERATORS)
from .edit import OPERATORS, Function, Mutant, edited


def chosen(only=None):
    """The sources of all exercises, or of ex05, or of ex04-erf alone."""
    return [source for source in sources() if only in (None, source.lesson.name, source.lesson.exercise)]


def mutants(source):
    """Every change that gives another program, once."""
    text, lesson = source.solution(), source.lesson
    module = ast.parse(text)
    seen = {ast.dump(module)}
    given = first_arguments(source)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name in lesson.functions:
            f = Function(lesson, text, node, given.get(node.name, {}), module)
            for mutant in mutants_of(f):
                try:
                    key = ast.dump(ast.parse(mutant.text))
                except SyntaxError:                  # a break outside a loop, and the like
                    continue
                if key not in seen:
                    seen.add(key)
                    yield mutant


def mutants_of(f):
    for name, changes in OPERATORS.items():
        ordinals = {}
        for node, edits, cause in changes(f):
            line = node.lineno - f.body[0].lineno + 1
            ordinal = ordinals.setdefault(line, itertools.count(1))
            full = f"{f.lesson.name}.{f.name}.{name.replace(' ', '-')}.{line}.{next(ordinal)}"
            cause = f"{' '.join(cause.split())} ({f.name}, {name})"
            yield Mutant(full, f.lesson, name, f.name, cause, edited(f.text, edits))


def first_arguments(source):
    """{function: {argument: its value in the first call of the checks}}"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.path.name
        path.write_text(source.solution(), encoding="utf-8")
        namespace, _ = files.run(path, source.lesson.withheld)
        host = Listening(namespace, path, source.lesson.withheld)
        mark(source.lesson, host)
    return host.heard


class Listening(Here):
    """A host that remembers the arguments of each function's first call."""

    heard = None

    def call(self, name, args, static, opaque):
        self.heard = self.heard or {}
        if name not in self.heard:
            code = self.namespace[name].__code__
            self.heard[name] = dict(zip(code.co_varnames, made(args), strict=False)) | made(static)
        return super().call(name, args, static, opaque)
