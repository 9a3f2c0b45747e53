"""A student's functions with one of them changed: they end, stay small, print nothing and open no files."""

import ast
import builtins
import contextlib
import inspect
import math
import sys
import textwrap
import time
import types
import warnings
from pathlib import Path

import numpy as np

from ..here import Here
from .slips import slips

ROUNDS = 20_000                                      # of all loops in a call of a changed function
LARGEST = 2 * 10**5                                  # entries of a list or an array in such a loop
MEMORY = 2**30                                       # bytes that changed functions may take beside what is taken
TICK = "count_a_round"
SILENT = {"print": lambda *args, **kwargs: None, "input": None, "open": None}


class TooLong(BaseException):
    """A changed function goes on and on; no student's `except Exception` may catch it."""


class Changed(Here):
    """A host of the same functions, one of which has other code for a while."""

    def __init__(self, host):
        super().__init__(linked_again(host.namespace), host.path, host.withheld, stateless=host.stateless)
        self.original, self.trees, self.found, self.rounds = host.namespace, {}, {}, Rounds()

    def call(self, name, args, static, opaque):
        self.rounds.left = ROUNDS
        return super().call(name, args, static, opaque)

    calls = Here.each_call

    @contextlib.contextmanager
    def changed(self, name, code):
        before, made = self.namespace[name], {}
        self.namespace[TICK] = self.rounds
        try:
            exec(code, self.namespace, made)
            (self.namespace[name],) = made.values()      # it may have another name where it is defined
            yield
        finally:
            self.namespace[name] = before

    def concerned(self, name):
        """The function, its partner, and those of the file that they call."""
        found = [name, name.replace("_backward", "_forward")]
        for each in found:
            code = getattr(self.namespace.get(each), "__code__", None)
            found += [inner for inner in (code.co_names if code else ()) if inner not in found]
        return [each for each in dict.fromkeys(found) if self.tree(each)]

    def slips(self, name):
        """All of a function, the likeliest first."""
        if name not in self.found:
            self.found[name] = slips(self.tree(name)[0], self.of_one_argument())
        return self.found[name]

    def of_one_argument(self):
        return [name for name, value in self.original.items()
                if self.tree(name) and value.__code__.co_argcount == 1]  # fmt: skip

    def tree(self, name):
        """(FunctionDef, the line where it begins) of a function of the file, or None."""
        if name not in self.trees:
            function = self.original.get(name)
            plain = isinstance(function, types.FunctionType) and function.__globals__ is self.original
            self.trees[name] = tree_of(function) if plain and not function.__closure__ else None
        return self.trees[name]


def linked_again(namespace):
    """A copy, in which the functions call those of the copy, and neither print nor open files."""
    copied = namespace | {"__builtins__": vars(builtins) | SILENT}
    for name, value in namespace.items():
        if isinstance(value, types.FunctionType) and value.__globals__ is namespace:
            copied[name] = types.FunctionType(value.__code__, copied, name, value.__defaults__, value.__closure__)
            copied[name].__kwdefaults__ = value.__kwdefaults__
    return copied


def tree_of(function):
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    return (tree, function.__code__.co_firstlineno) if isinstance(tree, ast.FunctionDef) else None


class Rounds:
    """What every loop of a changed function calls."""

    left, end = ROUNDS, math.inf                     # end: of this process's time

    def __call__(self):
        self.left -= 1
        over = self.left < 0 or time.process_time() > self.end
        if over or any(size_of(value) > LARGEST for value in sys._getframe(1).f_locals.values()):
            raise TooLong


def size_of(value):
    return getattr(value, "size", 0) if isinstance(value, np.ndarray) else len(value) if is_list(value) else 0


def is_list(value):
    return isinstance(value, list | tuple | dict | str)


@contextlib.contextmanager
def limited_memory():
    """Where the system grants it: an array that is too large is an error, and does not take the machine's memory."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most if soft == resource.RLIM_INFINITY else min(soft, most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def compiled(tree, loops, path):
    """The code of a definition; its loops count their rounds, so that they come to an end."""
    for loop in loops:
        count = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
        loop.body.insert(0, ast.fix_missing_locations(ast.copy_location(count, loop)))
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):       # of `x is 3`, which is tried, too
            return compile(ast.Module([tree], []), path or "<changed>", "exec", dont_inherit=True)
    finally:
        for loop in loops:
            loop.body.pop(0)


def loops_of(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
