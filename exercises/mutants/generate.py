"""All mutants of an exercise's solution, each with a name that stays."""

import ast
import functools
import itertools
import tempfile
from pathlib import Path

from minalbert_course import files
from minalbert_course.copying import copies
from minalbert_course.here import Here
from minalbert_course.marking import mark

from ..source import sources
from . import arguments, arithmetic, arrays, flow, memory, right, right_caches  # noqa: F401   (they fill both tables)
from .edit import OPERATORS, Function, Mutant, edited


def chosen(only=None):
    """The sources of all exercises, or of ex05, or of ex04-erf alone."""
    return [source for source in sources() if only in (None, source.lesson.name, source.lesson.exercise)]


def mutants(source, operators=OPERATORS):
    """Every change that gives another program, once.

    A wrong answer that is no Python is left out; a right one raises.
    """
    text, lesson = source.solution(), source.lesson
    module = ast.parse(text)
    seen = {ast.dump(module)}
    given, made = first_calls(source)
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name in lesson.functions:
            f = Function(lesson, text, node, module, given.get(node.name, {}), made.get(node.name, {}))
            for mutant in mutants_of(f, operators):
                try:
                    key = ast.dump(ast.parse(mutant.text, mutant.name))
                except SyntaxError:
                    if operators is OPERATORS:       # sum(x for x in xs, axis=0), and the like
                        continue
                    raise
                if key not in seen:
                    seen.add(key)
                    yield mutant


def mutants_of(f, operators):
    for name, changes in operators.items():
        ordinals = {}
        for node, edits, cause in changes(f):
            line = node.lineno - f.body[0].lineno + 1
            ordinal = ordinals.setdefault(line, itertools.count(1))
            full = f"{f.lesson.name}.{f.name}.{name.replace(' ', '-')}.{line}.{next(ordinal)}"
            cause = f"{' '.join(cause.split())} ({f.name}, {name})"
            yield Mutant(full, f.lesson, name, f.name, cause, edited(f.text, edits))


@functools.cache
def first_calls(source):
    """({function: {argument: its value in the first call of the checks}}, the same of what it returns)"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.path.name
        path.write_text(source.solution(), encoding="utf-8")
        namespace, _ = files.run(path, source.lesson.withheld)
        host = Listening(namespace, path, source.lesson)
        mark(source.lesson, host)
    return host.given, host.returned


class Listening(Here):
    """A host that remembers each function's first call."""

    def __init__(self, namespace, path, lesson):
        super().__init__(namespace, path, lesson.withheld)
        self.lesson, self.given, self.returned = lesson, {}, {}

    def call(self, name, args, static, opaque):
        result, written = super().call(name, args, static, opaque)
        if name not in self.given:
            names = self.namespace[name].__code__.co_varnames
            self.given[name] = dict(zip(names, copies(args), strict=False)) | copies(static)
            returns = self.lesson.functions[name]
            self.returned[name] = dict(zip(returns, result if len(returns) > 1 else [result], strict=False))
        return result, written
