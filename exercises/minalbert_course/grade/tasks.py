"""What a worker is told of an exercise: names, and nothing that is right."""

import ast
import functools
import sys
from pathlib import Path

from ..files import stem
from ..handout import handed_out

MAKERS = Path(__file__).resolve().parents[1] / "makers"
EXTRA = {                                            # what a right answer may use besides, and no exercise's answer
    "ex09": {"minalbert.layers": ("softmax", "log_softmax")},
    "ex13": {"minalbert.layers": ("softmax",)},
}


@functools.cache
def task_of(lesson):
    withheld = [(function.__module__, function.__qualname__) for function in lesson.withheld]
    return {
        "functions": list(lesson.functions), "imports": imports(lesson), "withheld": withheld,
        "stars": stars(lesson.withheld), "own results": list(lesson.own_results),
        "makers": lesson.exercise if (MAKERS / f"{lesson.exercise}.py").exists() else None,
    }  # fmt: skip


def imports(lesson):
    """{module: names} of ours that the file imports which students start from, and a few more."""
    found = {module: list(names) for module, names in EXTRA.get(lesson.exercise, {}).items()}
    for node in ast.walk(ast.parse(handed_out()[f"{stem(lesson)}.py"])):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("minalbert"):
            found.setdefault(node.module, []).extend(alias.name for alias in node.names)
    return found


def stars(functions):
    """{module of ours: names of these functions in it}"""
    found, these = {}, set(map(id, functions))
    for name, module in list(sys.modules.items()):
        if name.startswith("minalbert"):
            names = [key for key, value in vars(module).items() if id(value) in these]
            found |= {name: names} if names else {}
    return found
