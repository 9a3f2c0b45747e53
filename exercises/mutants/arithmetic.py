"""Operators, constants, signs, terms of sums and factors of products."""

import ast

from .edit import operator

SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Pow: "**", ast.Mod: "%",
    ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&",
}  # fmt: skip
OTHERS = {
    "+": ("-", "*"), "-": ("+",), "*": ("/", "+"), "/": ("*", "//"), "//": ("/", "*"), "**": ("*",), "%": ("//",),
    "@": ("*",), "|": (), "&": ("|",),
}  # fmt: skip


@operator("operators")
def other_operators(f):
    for node in f.all(ast.BinOp):
        sign, left, right = SIGNS[type(node.op)], f.of(node.left), f.of(node.right)
        for other in OTHERS[sign]:
            yield node, f.put(node, f"({left}) {other} ({right})"), f"{sign} became {other}"
        if sign in ("-", "/", "//", "@", "**", "|"):
            yield node, f.put(node, f"({right}) {sign} ({left})"), f"the sides of {sign} are swapped"


@operator("terms")
def dropped_terms(f):
    """a + b -> a; a * b -> b; and so on"""
    for node in f.all(ast.BinOp):
        sign, left, right = SIGNS[type(node.op)], f.of(node.left), f.of(node.right)
        minus = "-" if sign == "-" else ""
        kept = {left: right, f"{minus}({right})": left}
        if sign in "+-*/|&":
            for text, dropped in kept.items():
                yield node, f.put(node, text), f"{dropped} is dropped from {f.of(node)}"
        elif sign in ("**", "//", "%"):
            yield node, f.put(node, left), f"{sign} {right} is dropped from {f.of(node)}"


@operator("constants")
def other_constants(f):
    """By 0.1 %, by one, to double and half, to fewer digits; chances by more than that, for nobody could see less."""
    negative = f.all(ast.UnaryOp)
    for node in f.all(ast.Constant):
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or in_index(f, node):
            continue
        if f.parent.get(node) in negative and isinstance(f.parent[f.parent[node]], ast.Call):
            continue                                 # reshape(-1)
        chance = isinstance(value, float) and "rng" in f.arguments
        new = [value * 1.125, value * 0.875] if chance else [value * 1.001, value * 0.999]
        new += [value + 1, value - 1, value * 2, value / 2 if isinstance(value, float) else value // 2]
        new += [float(f"{value:.2g}"), float(f"{value:.3g}")] if isinstance(value, float) else []
        for number in dict.fromkeys(new):
            if number != value:
                yield node, f.put(node, f"{number!r}"), f"{value!r} became {number!r}"


def in_index(f, node):
    """Is it an axis, an index or an order, which `arrays` and `flow` change?"""
    while node in f.parent and not isinstance(node, ast.stmt):
        parent = f.parent[node]
        if isinstance(parent, ast.Subscript) and node is parent.slice:
            return True
        if isinstance(parent, ast.keyword) and parent.arg in ("axis", "axes", "keepdims", "dtype"):
            return True
        node = parent
    return False


@operator("signs")
def other_signs(f):
    for node in f.all(ast.UnaryOp):
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            yield node, f.put(node, f.of(node.operand)), f"the minus of {f.of(node)} is dropped"
    for node in f.all(ast.Assign, ast.AugAssign):
        if isinstance(node.value, ast.BinOp | ast.Call | ast.Subscript) and "zeros" not in f.of(node.value):
            yield node, f.put(node.value, f"-({f.of(node.value)})"), f"the sign of {f.of(node.value)} is turned"


@operator("factors")
def factors(f):
    """What is computed is off by 0.1 %; what is returned is nothing, loses digits or its sign."""
    for node in f.all(ast.Assign, ast.AugAssign):
        if isinstance(node.value, ast.BinOp):
            yield node, f.put(node.value, f"1.001 * ({f.of(node.value)})"), f"{f.of(node.value)} is off by 0.1 %"
    for name, node in f.returned():
        text = f.of(node)
        ways = {
            "1.001 * ({})": "is off by 0.1 %", "0 * ({})": "is nothing", "np.round({}, 3)": "has three digits",
            "np.asarray({}).astype(np.float16)": "goes through float16", "np.abs({})": "loses its sign",
        }  # fmt: skip
        for way, what in ways.items():
            yield node, f.put(node, way.format(text)), f"{name} {what}"


@operator("powers")
def other_powers(f):
    for node in f.all(ast.BinOp):
        left, right = f.of(node.left), f.of(node.right)
        if isinstance(node.op, ast.Mult) and left == right:
            yield node, f.put(node, f"np.abs({left})"), f"{f.of(node)} became |{left}|"
            yield node, f.put(node, f"({left})**3"), f"{f.of(node)} became a cube"
        if isinstance(node.op, ast.Div | ast.Mult):
            yield node, f.put(node.right, f"({right})**2"), f"{right} is squared in {f.of(node)}"
            yield node, f.put(node.right, f"np.sqrt({right})"), f"the root of {right} is taken in {f.of(node)}"
