"""Axes, reductions, functions of NumPy, dtypes, transposes, the device."""

import ast

import numpy as np

from .edit import operator

NAMED = {                                            # method or function -> what it may be mistaken for
    "sum": ("mean", "max"), "mean": ("sum", "max", "std"), "max": ("min", "mean"), "min": ("max",),
    "sqrt": ("square", "cbrt"), "log": ("log2", "log10", "log1p"), "exp": ("exp2", "expm1"),
    "tanh": ("arctan", "sin"), "abs": ("negative", "square"), "round": ("int", "np.ceil", "np.floor"),
    "zeros": ("ones", "empty"), "zeros_like": ("ones_like", "empty_like"), "argsort": ("argmax",), "sort": ("unique",),
    "integers": ("random",), "flatnonzero": ("nonzero",), "erf": ("np.tanh",), "float": ("int",), "int": ("float",),
    "dict": (), "startswith": ("endswith",), "endswith": ("startswith",), "removeprefix": ("strip", "lstrip"),
    "rpartition": ("partition",), "ndindex": ("arange",),
}  # fmt: skip
REDUCTIONS = ("sum", "mean", "max", "min")


def called(node):
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@operator("functions")
def other_functions(f):
    for node in f.all(ast.Call):
        name, function = called(node), f.of(node.func)
        for other in NAMED.get(name, ()):
            if "." in other or not isinstance(node.func, ast.Attribute):
                text = other
            else:
                text = function.removesuffix(name) + other
            yield node, f.replace(node.func, text), f"{name} became {other}"
        if name == "tanh":
            yield node, f.put(node, f"1 / (1 + np.exp(-({f.of(node.args[0])})))"), "tanh became a sigmoid"


@operator("dropped calls")
def dropped_calls(f):
    """f(x) -> x, x.f() -> x"""
    for node in f.all(ast.Call):
        if len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
            yield node, f.put(node, f.of(node.args[0])), f"{f.of(node.func)} is dropped: its argument alone is taken"
        if isinstance(node.func, ast.Attribute) and not is_library(node.func.value):
            yield node, f.put(node, f.of(node.func.value)), f".{called(node)} is dropped"


def is_library(node):
    return isinstance(node, ast.Name) and node.id in ("np", "xp", "math", "json", "dataclasses")


@operator("axes")
def other_axes(f):
    for node in f.all(ast.Call):
        keywords = {keyword.arg: keyword for keyword in node.keywords}
        if "axis" in keywords:
            old = f.of(keywords["axis"].value)
            for new in ("0", "-1", "-2", "1", "None"):
                if new != old:
                    yield node, f.replace(keywords["axis"].value, new), f"axis={old} became axis={new}"
        elif called(node) in REDUCTIONS:
            inside = f.of(node)[len(f.of(node.func)) + 1 : -1]
            for new in ("0", "-1"):
                arguments = f"{inside}, axis={new}" if inside else f"axis={new}"
                yield node, f.put(node, f"{f.of(node.func)}({arguments})"), f"axis={new} is added to {f.of(node)}"
        if called(node) == "swapaxes":
            for new in ("0, 1", "-1, -3", "-2, -3"):
                yield node, f.put(node, f"{f.of(node.func)}({new})"), f"other axes are swapped: {new}"
    for node in f.all(ast.Subscript):
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            for new in ("0", "-1", "1", "-2"):
                if new != f.of(node.slice):
                    yield node, f.replace(node.slice, new), f"{f.of(node)} became {f.of(node.value)}[{new}]"


@operator("keywords")
def dropped_arguments(f):
    """A keyword or the last argument left out, a keyword's opposite."""
    for node in f.all(ast.Call):
        function, parts = f.of(node.func), [*node.args, *node.keywords]
        texts = [f.of(part) for part in parts]
        if len(parts) > 1:
            for i, part in enumerate(parts):
                if texts[i].endswith("dtype") and f.lesson.exercise != "ex12":
                    continue                         # the marker allows any
                if isinstance(part, ast.keyword) or i == len(parts) - 1:
                    fewer = ", ".join(texts[:i] + texts[i + 1 :])
                    yield node, f.put(node, f"{function}({fewer})"), f"{texts[i]} is left out of {f.of(node)}"
        for keyword in node.keywords:
            if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool):
                other = f"{keyword.arg}={not keyword.value.value}"
                yield node, f.replace(keyword, other), f"{f.of(keyword)} became {other}"


@operator("transposes")
def transposes(f):
    """.T dropped, factors of a product transposed, reshape in another order."""
    for node in f.all(ast.Attribute):
        if node.attr == "T":
            yield node, f.put(node, f.of(node.value)), f".T is dropped from {f.of(node)}"
    for node in f.all(ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            for side in (node.left, node.right):
                new = f"({f.of(side)}).swapaxes(-1, -2)"
                yield node, f.put(side, new), f"{f.of(side)} is transposed in {f.of(node)}"
    for node in f.all(ast.Call):
        if called(node) == "reshape":
            yield node, f.put(node, f"{f.of(node)[:-1]}, order='F')"), f"{f.of(node)} goes down the columns"


@operator("dtypes")
def other_dtypes(f):
    for node in f.all(ast.Attribute, ast.Name):
        is_dtype = isinstance(node, ast.Attribute) and node.attr == "dtype"
        if is_dtype or (isinstance(node, ast.Name) and node.id == "complex"):
            for new in ("np.float16", "int") if is_dtype else ("float", "np.complex64"):
                yield node, f.put(node, new), f"{f.of(node)} became {new}"
    for name in f.arguments:
        if is_float(f.given.get(name)):
            for dtype in ("np.float16", "int"):
                yield f.body[0], f.at_start(f"{name} = {name}.astype({dtype})"), f"{name} is first made {dtype}"


def is_float(value):
    return getattr(getattr(value, "dtype", None), "kind", "") == "f" and hasattr(value, "astype")


@operator("device")
def other_devices(f):
    """NumPy where the array's own library is asked for."""
    for node in f.all(ast.Name):
        if node.id == "xp" and isinstance(node.ctx, ast.Load):
            yield node, f.replace(node, "np"), f"NumPy in place of the array's library in {f.of(f.parent[node])}"
    for node in f.all(ast.Call):
        if f.of(node.func) == "array_module":
            yield node, f.put(node, "np"), "NumPy, whatever the array is"
    if f.lesson.exercise == "ex12":
        for name, node in f.returned():
            for way in ("np.asarray", "float"):
                yield node, f.put(node, f"{way}({f.of(node)})"), f"{name} goes through {way}"


@operator("scatter")
def scatter(f):
    for node in f.all(ast.Call):
        if f.of(node.func).endswith(".add.at"):
            table, index, update = (f.of(argument) for argument in node.args)
            yield node, f.replace(node, f"{table}[{index}] += {update}"), "+= in place of add.at: repeats are lost"
            yield node, f.replace(node, f"{table}[{index}] = {update}"), "= in place of add.at"
            for new in (f"np.unique({index})", f"{index}[:-1]", f"{index}[:1]"):
                yield node, f.replace(node, f"{f.of(node.func)}({table}, {new}, {update})"), f"{new} for {index}"


@operator("results")
def results(f):
    """What is returned passes through something that is right for some arrays only."""
    for number, (name, node) in enumerate(f.returned()):
        text, made = f.of(node), f.made.get(name)
        is_array = isinstance(made, list | tuple) or np.ndim(made) > 0               # a list may be ragged
        ways = ["np.maximum({}, 0)", "np.minimum({}, 1)"]
        ways += ["np.sort({})", "({})[::-1]"] if is_array else []
        ways += ["np.squeeze({})"] if is_array and not number else []
        for way in ways:
            yield node, f.put(node, way.format(text)), f"{name} is returned as {way.format(name)}"
