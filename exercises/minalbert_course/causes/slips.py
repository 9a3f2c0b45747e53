"""Single changes in the text of a function, each with words for the place that it changes.

They undo slips: something too much, an operator, a name or a number that stands for another, two things that must
change places, and, last, something that is left out. The words name the place, and not what must stand there.
"""

import ast
import itertools
from typing import Any, NamedTuple

from .omissions import at, omitted, short

LIKE = (                                             # functions that are taken for one another
    ("sum", "mean", "max", "min", "std", "prod"), ("sqrt", "square", "cbrt"), ("log", "log2", "log10", "log1p"),
    ("exp", "exp2", "expm1"), ("tanh", "arctan", "sin", "cos", "erf"), ("round", "ceil", "floor", "trunc", "int"),
    ("zeros", "ones", "empty"), ("zeros_like", "ones_like", "empty_like"), ("argsort", "argmax", "sort", "unique"),
    ("startswith", "endswith"), ("removeprefix", "removesuffix", "strip", "lstrip"), ("partition", "rpartition"),
    ("integers", "random"), ("flatnonzero", "nonzero"), ("abs", "negative", "square"), ("float", "int"),
    ("maximum", "minimum", "add", "subtract", "multiply", "divide"),
)  # fmt: skip
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult, ast.Mod, ast.BitOr, ast.BitAnd)
SIGNS = dict(zip(OPERATORS, ("+", "-", "*", "/", "//", "**", "@", "%", "|", "&"), strict=True))
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
            ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}  # fmt: skip


class Slip(NamedTuple):
    rank: int                                        # those of a low rank are likelier
    line: int
    says: str                                        # "without `np.abs`", after "all numbers of a check are right"
    parent: Any
    field: str
    index: int | None
    new: Any                                         # or a function that makes it

    def exchange(self, new):
        """Put it there; return what was."""
        new = new() if callable(new) else new
        if self.index is None:
            old = getattr(self.parent, self.field)
            setattr(self.parent, self.field, new)
        else:
            values = getattr(self.parent, self.field)
            old, values[self.index] = values[self.index], new
        return old


def slips(function, called=()):
    """All of a FunctionDef, the likeliest first. called: names of functions of one argument, which may be left out"""
    names = InReach(known_names(function), called)
    found = [slip for node in ast.walk(function) for slip in of_node(node, function, names)]
    return sorted(found, key=lambda slip: slip.rank)


class InReach(NamedTuple):
    known: list
    called: tuple


def known_names(function):
    stored = [node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return list(dict.fromkeys([argument.arg for argument in function.args.args] + stored))


def of_node(parent, function, names):
    for field, value in ast.iter_fields(parent):
        if parent is function and field != "body":
            continue
        if isinstance(value, list):
            for index, child in enumerate(value):
                yield from of_child(parent, field, index, child, function, names)
            if value and isinstance(value[0], ast.stmt):
                yield from neighbours(parent, field, value)
        elif isinstance(value, ast.AST):
            yield from of_child(parent, field, None, value, function, names)


def of_child(parent, field, index, child, function, names):
    def slip(rank, says, new, where=(parent, field, index), line=getattr(child, "lineno", 0)):
        return Slip(rank, line, says, *where, new)

    if isinstance(child, ast.stmt):
        yield from of_statement(child, slip)
    elif isinstance(child, ast.expr) and not isinstance(getattr(child, "ctx", None), ast.Store | ast.Del):
        if isinstance(child, ast.Slice):
            yield from of_slice(child, names.known, slip)
            return
        if not (isinstance(parent, ast.Call) and field == "func"):
            yield from superfluous(child, slip)
            yield from others(child, names, slip)
            if not isinstance(parent, ast.Attribute | ast.Subscript | ast.keyword) or field == "slice":
                yield from (slip(rank, says, new) 
                            for rank, says, new in omitted(child, function, names.known, names.called))  # fmt: skip
        yield from within(child, slip)


def of_statement(node, slip):
    if not isinstance(node, ast.Return | ast.FunctionDef | ast.Pass):
        yield slip(0, f"without {short(node)}", ast.copy_location(ast.Pass(), node))
    if isinstance(node, ast.AugAssign):
        yield slip(1, f"with = in {short(node)}", at(ast.Assign([node.target], node.value), node))
        for operator in OPERATORS[:4]:
            if operator is not type(node.op):
                new = ast.AugAssign(node.target, operator(), node.value)
                yield slip(1, f"with another operator than {SIGNS[type(node.op)]}= in {short(node)}", at(new, node))
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Subscript):
        new = ast.AugAssign(node.targets[0], ast.Add(), node.value)
        yield slip(1, f"with += in {short(node)}", at(new, node))
    elif isinstance(node, ast.If):
        for test in (ast.Constant(True), ast.Constant(False), ast.UnaryOp(ast.Not(), node.test)):
            new = ast.If(at(test, node), node.body, node.orelse)
            yield slip(0, f"with another condition than {short(node.test)}", at(new, node))
        yield slip(1, f"with while in place of if {short(node.test)}", at(ast.While(node.test, node.body, []), node))


def superfluous(node, slip):
    """Something too much."""
    if isinstance(node, ast.Call):
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        for argument in dict.fromkeys([*plain[-1:], *plain[:1]]):
            yield slip(0, f"without {short(node.func)}", argument)
        if isinstance(node.func, ast.Attribute):
            yield slip(0, f"without `.{node.func.attr}`", node.func.value)
    elif isinstance(node, ast.BinOp):
        sign = SIGNS.get(type(node.op), "")
        yield slip(0, f"without {short(node.left)} before {sign}", node.right)
        yield slip(0, f"without {sign} {short(node.right)}", node.left)
    elif isinstance(node, ast.UnaryOp):
        yield slip(0, f"without the sign, or the not, of {short(node)}", node.operand)
    elif isinstance(node, ast.Subscript):
        yield slip(0, f"without the index of {short(node)}", node.value)
    elif isinstance(node, ast.IfExp):
        for branch in (node.body, node.orelse):
            yield slip(0, f"without the condition {short(node.test)}", branch)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            rest = [other for other in node.values if other is not value]
            new = rest[0] if len(rest) == 1 else at(ast.BoolOp(node.op, rest), node)
            yield slip(0, f"without {short(value)} in the condition", new)


def others(node, names, slip):
    """Something else in its place."""
    if isinstance(node, ast.Name):
        for name in names.known:
            if name != node.id:
                yield slip(1, f"with another name than `{node.id}`", at(ast.Name(name, ast.Load()), node))
    elif isinstance(node, ast.BinOp):
        new = at(ast.BinOp(node.right, node.op, node.left), node)
        yield slip(1, f"where the sides of {SIGNS.get(type(node.op), '')} in {short(node)} change places", new)
    elif isinstance(node, ast.Constant | ast.UnaryOp | ast.Tuple):
        yield from constants(node, names, slip)


def constants(node, names, slip):
    """Other numbers that are whole, and sizes; `mending` solves for the others."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return
    says = f"with something else than `{value!r}`"
    if isinstance(value, bool):
        new = [not value]
    elif isinstance(value, int):
        new = [value + 1, value - 1, 0, 1, 2, 3, -1, -2, -value, 2 * value, None]
    else:
        new = []
    yield from (slip(1, says, at(ast.parse(repr(other), mode="eval").body, node))
                for other in dict.fromkeys(new) if other != value or type(other) is not type(value))  # fmt: skip
    if isinstance(value, float | None):
        yield from (slip(1, says, at(ast.Name(name, ast.Load()), node)) for name in names.known)
    if isinstance(value, int | tuple) and not isinstance(value, bool):
        ways = ("{}.shape", "len({})", "{}.shape[0]", "{}.shape[1]", "{}.shape[-1]")
        yield from (slip(2, says, at(ast.parse(way.format(name), mode="eval").body, node))
                    for way in ways for name in names.known[:8])  # fmt: skip


def of_slice(node, names, slip):
    for low, high in ((None, node.upper), (node.lower, None), (None, None), (node.upper, node.lower),
                      (node.lower, moved(node.upper, 1)), (node.lower, moved(node.upper, -1)),
                      (moved(node.lower, 1), node.upper), (moved(node.lower, -1), node.upper)):  # fmt: skip
        yield slip(1, f"with another slice than `{ast.unparse(node)}`", at(ast.Slice(low, high, node.step), node))
    bounds = [None, *(ast.Name(name, ast.Load()) for name in names[:8])]
    for low, high in itertools.product(bounds, bounds):
        yield slip(2, f"with another slice than `{ast.unparse(node)}`", at(ast.Slice(low, high, node.step), node))
    if node.step:
        yield slip(0, f"without the step of `{ast.unparse(node)}`", at(ast.Slice(node.lower, node.upper), node))


def moved(node, step):
    return ast.BinOp(node, ast.Add(), ast.Constant(step)) if node else None


def within(node, slip):
    """What an expression does with its parts."""
    line = node.lineno
    if isinstance(node, ast.BinOp):
        for operator in OPERATORS:
            if operator is not type(node.op) and (operator is not ast.Pow or isinstance(node.right, ast.Constant)):
                says = f"with another operator than {SIGNS.get(type(node.op), 'this')} in {short(node)}"
                yield slip(1, says, operator(), (node, "op", None), line)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield slip(1, f"with the other of and, or in {short(node)}", other, (node, "op", None), line)
    elif isinstance(node, ast.Compare):
        for operator in COMPARED:
            if operator is not type(node.ops[0]):
                says = f"with another comparison than {COMPARED[type(node.ops[0])]} in {short(node)}"
                yield slip(1, says, operator(), (node, "ops", 0), line)
        yield slip(1, f"with the opposite of {short(node)}", [ast.NotIn()], (node, "ops", None), line)
    elif isinstance(node, ast.Call):
        yield from of_call(node, slip)
    elif isinstance(node, ast.Tuple | ast.List):
        yield from neighbours(node, "elts", node.elts)
    elif isinstance(node, ast.Dict):
        yield from neighbours(node, "values", node.values)


def of_call(node, slip):
    line = node.lineno
    for keyword in node.keywords:
        rest = [other for other in node.keywords if other is not keyword]
        yield slip(0, f"without `{ast.unparse(keyword)}`", rest, (node, "keywords", None), line)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    place = (node.func, "attr" if isinstance(node.func, ast.Attribute) else "id", None)
    for group in LIKE:
        for other in group if name in group else ():
            if other != name:
                yield slip(1, f"with another function than `{name}`", other, place, line)
    yield from neighbours(node, "args", node.args)
    if name in ("sum", "mean", "max", "min"):
        for text in ("axis=-1", "axis=0", "keepdims=True", "axis=-1, keepdims=True"):
            added = ast.parse(f"f({text})", mode="eval").body.keywords
            kept = [keyword for keyword in node.keywords if keyword.arg not in [new.arg for new in added]]
            new = [at(keyword, node) for keyword in kept + added]
            yield slip(1, f"with other arguments of {short(node.func)}", new, (node, "keywords", None), line)


def neighbours(parent, field, values):
    for i, (a, b) in enumerate(itertools.pairwise(values)):
        if not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
            says = f"where {short(a)} and {short(b)} change places"
            yield Slip(1, getattr(a, "lineno", 0), says, parent, field, None, [*values[:i], b, a, *values[i + 2 :]])
