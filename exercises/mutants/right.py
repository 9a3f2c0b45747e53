"""Changes that keep an answer right: none of them may lose a point."""

import ast
import functools

import numpy as np

from .arrays import is_float
from .edit import RIGHT, operator
from .flow import depend

right = functools.partial(operator, among=RIGHT)


@right("renaming")
def renamed(f):
    """Local variables, all of them, one way and another; not where they stand in an f-string."""
    if f.all(ast.JoinedStr):
        return
    stored = {node.id for node in f.all(ast.Name) if isinstance(node.ctx, ast.Store)} - set(f.arguments)
    for way in ("{}_", "v_{}", "the_{}"):
        edits = [edit for node in f.all(ast.Name) if node.id in stored for edit in f.replace(node, way.format(node.id))]
        if edits:
            yield f.body[0], edits, f"local variables are called {way.format('x')}"
    if stored:
        names = {name: f"Z{i}" for i, name in enumerate(sorted(stored))}
        edits = [edit for node in f.all(ast.Name) if node.id in stored for edit in f.replace(node, names[node.id])]
        yield f.body[0], edits, "local variables are called Z0, Z1"


@right("reordering")
def reordered(f):
    """Neighbours that do not need each other."""
    for node, following in zip(f.body, f.body[1:], strict=False):
        kinds = ast.Assign | ast.AugAssign
        if isinstance(node, kinds) and isinstance(following, kinds) and not depend(node, following):
            edits = f.statements(node, f.of(following)) + f.statements(following, f.of(node))
            yield node, edits, f"{f.of(node)} comes after {f.of(following)}"


@right("products")
def products(f):
    turned = "({1}.swapaxes(-1, -2) @ {0}.swapaxes(-1, -2)).swapaxes(-1, -2)"
    ways = {"np.matmul({}, {})": "", "einsum_({}, {})": EINSUM, turned: ""}
    for node in f.all(ast.BinOp):
        if isinstance(node.op, ast.MatMult):
            for way, above in ways.items():
                text = way.format(f"({f.of(node.left)})", f"({f.of(node.right)})")
                if "swapaxes" not in way or is_deep(f):
                    yield node, f.put(node, text) + (f.above(above) if above else []), f"{text} for {f.of(node)}"


EINSUM = '''def einsum_(a, b):
    return np.einsum("...ij,...jk->...ik", a, b) if min(a.ndim, b.ndim) > 1 else a @ b'''


def is_deep(f):
    return f.lesson.exercise in ("ex05", "ex06", "ex09")


@right("arithmetic")
def arithmetic(f):
    """Sides swapped, differences and quotients written otherwise; not with lists, whole numbers or texts."""
    if f.lesson.exercise in ("ex07", "ex08", "ex13"):
        return
    for node in f.all(ast.BinOp):
        left, right_, text = f.of(node.left), f.of(node.right), f.of(node)
        news = []
        if isinstance(node.op, ast.Add | ast.Mult):
            news = [f"({right_}) {'+' if isinstance(node.op, ast.Add) else '*'} ({left})"]
        elif isinstance(node.op, ast.Sub):
            news = [f"-(({right_}) - ({left}))", f"({left}) + (-({right_}))"]
        elif isinstance(node.op, ast.Div):
            news = [f"({left}) * (1 / ({right_}))"]
        elif isinstance(node.op, ast.Pow) and right_ == "2":
            news = [f"({left}) * ({left})"]
        for new in news:
            yield node, f.put(node, new), f"{new} for {text}"
    for node in f.all(ast.Call):
        if f.of(node.func) in ("np.sqrt", "xp.sqrt"):
            yield node, f.put(node, f"({f.of(node.args[0])})**0.5"), f"a power for {f.of(node)}"
        reduction = isinstance(node.func, ast.Attribute) and node.func.attr in ("sum", "mean", "max")
        if reduction and f.lesson.name != "ex12":
            inside = f.of(node)[len(f.of(node.func)) + 1 : -1]
            new = f"np.{node.func.attr}({f.of(node.func.value)}{', ' if inside else ''}{inside})"
            yield node, f.put(node, new), f"{new} for {f.of(node)}"


@right("statements")
def otherwise(f):
    for node in f.all(ast.AugAssign):
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(node.op)]
        new = f"{f.of(node.target)} = {f.of(node.target)} {sign} ({f.of(node.value)})"
        yield node, f.statements(node, new), f"{new} for {f.of(node)}"
    for node in f.all(ast.IfExp):
        new = f"({f.of(node.orelse)}) if not ({f.of(node.test)}) else ({f.of(node.body)})"
        yield node, f.put(node, new), f"the condition turned round, and its branches: {f.of(node)}"
    for node in f.all(ast.For):
        yield node, f.put(node.iter, f"list({f.of(node.iter)})"), f"a list for {f.of(node.iter)}"
    for node, _ in f.returns():
        new = f"the_result = {f.of(node.value)}\nprint('here', type(the_result))\nreturn the_result"
        yield node, f.statements(node, new), "what is returned has a name, and something is printed"
        new = f"try:\n    return {f.of(node.value)}\nfinally:\n    pass"
        yield node, f.statements(node, new), "returned from within try"
    yield f.body[0], f.at_start("import math, time\nassert time.time() > math.pi"), "imports and asserts inside"
    yield f.body[0], f.at_start("# here it begins\n'a text that does nothing'\n..."), "a comment, a text, dots"


@right("results")
def results(f):
    """Other kinds of tuples and arrays, with the same numbers in them."""
    for node, values in f.returns():
        texts = [f.of(value) for value in values]
        count, called = len(f.lesson.functions[f.name]), f.text.count(f"{f.name}(") > 1
        if len(values) > 1 and len(values) == count:
            yield node, f.replace(node.value, f"[{', '.join(texts)}]"), "a list for a tuple"
        elif count == 1 and not called and f.lesson.exercise in ("ex02", "ex03", "ex04", "ex05"):
            yield node, f.replace(node.value, f"({texts[0]},)"), "a tuple of one"
    for name, node in f.returned():
        if not is_float(f.made.get(name)) or np.ndim(f.made[name]) == 0 or f.lesson.exercise in ("ex06", "ex12"):
            continue
        ways = {"np.asarray({}, order='F')": "columns first", "read_only({})": "not to be written into",
                "np.repeat(({})[..., None], 2, -1)[..., 0]": "every second place in memory"}  # fmt: skip
        for way, what in ways.items():
            above = f.above(READ_ONLY) if "read_only" in way else []
            yield node, f.put(node, way.format(f.of(node))) + above, f"{name} is an array, {what}"


READ_ONLY = '''def read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array'''


@right("signatures")
def signatures(f):
    """Defaults, type hints, more arguments, decorators, other kinds of functions."""
    arguments = f.node.args.args
    if not arguments:
        return
    start = f.offset(f.node.lineno, f.node.col_offset)
    body = f.of(f.node)
    last = arguments[-1]
    end = f.span(last)[1]
    header_end = f.text.index(":\n", end)
    yield f.body[0], [f.edit(end, end, "=None")], "a default for the last argument"
    yield f.body[0], [f.edit(end, end, ", verbose=False, *, debug=None")], "more arguments, with defaults"
    hints = [f.edit(f.span(a)[1], f.span(a)[1], ": 'np.ndarray | float'") for a in arguments]
    yield f.body[0], [*hints, f.edit(header_end, header_end, " -> tuple")], "type hints"
    call = f"own_{f.name}(*args, **kwargs)"
    named = f.edit(start + len("def "), start + len("def "), "own_")
    after = f.span(f.node)[1]
    ways = {
        "a function around it": f"\n\n\ndef {f.name}(*args, **kwargs):\n    return {call}",
        "a lambda": f"\n\n\n{f.name} = lambda *args, **kwargs: {call}",
        "an object that can be called": f"\n\n\nclass Called:\n    def __call__(self, *args, **kwargs):\n"
                                        f"        return {call}\n\n\n{f.name} = Called()",
        "a method of a class": f"\n\n\nclass Layer:\n    @staticmethod\n    def run(*args, **kwargs):\n"
                               f"        return {call}\n\n\n{f.name} = Layer.run",
        "a partial": f"\n\n\nimport functools\n\n{f.name} = functools.partial(own_{f.name})",
    }  # fmt: skip
    for what, text in ways.items():
        yield f.body[0], [named, f.edit(after, after, text)], what
    inner = "\n".join(f"    {line}" for line in body.splitlines())
    names = ", ".join(f.arguments)
    outer = f"def {f.name}({names}):\n{inner}\n    return {f.name}({names})"
    yield f.body[0], [f.edit(start, after, outer)], "a function inside the function"
    yield f.body[0], [f.edit(start, start, f"{TIMED}\n\n\n@timed_\n")], "a decorator"


TIMED = '''def timed_(function):
    import functools
    import time

    @functools.wraps(function)
    def inner(*args, **kwargs):
        begin = time.perf_counter()
        result = function(*args, **kwargs)
        print(time.perf_counter() - begin)
        return result

    return inner'''


@right("float32")
def single_precision(f):
    """What is returned in float32, and computed in it, where the exercise does not ask for more digits."""
    if f.lesson.exercise in ("ex01", "ex12", "ex13") or f.lesson.name == "ex06":
        return
    for name, node in f.returned():
        if is_float(f.made.get(name)):
            yield node, f.put(node, f"np.float32({f.of(node)})"), f"{name} is rounded to float32"
    if f.lesson.exercise in ("ex02", "ex04", "ex05", "ex09", "ex10"):
        casts = [f"{name} = np.asarray({name}, np.float32)" for name in f.arguments if is_float(f.given.get(name))]
        if casts:
            yield f.body[0], f.at_start("\n".join(casts)), "arrays are made float32 at the beginning"


@right("copies")
def copies(f):
    for name in f.arguments:
        if hasattr(f.given.get(name), "shape"):
            for way in (f"{name} = {name}.copy()", f"{name} = {name} + 0"):
                yield f.body[0], f.at_start(way), f"{way} at the beginning"
