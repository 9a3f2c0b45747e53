"""What may be missing from an expression: a sign, a factor, a term, a function around it."""

import ast
import copy
import functools
import itertools
from functools import partial

WRAPPED = (
    "-({})", "np.sqrt({})", "np.exp({})", "np.log({})", "np.abs({})", "np.tanh({})", "({}).T", "({}).swapaxes(-1, -2)",
    "({})[::-1]", "reversed({})", "({}).sum()", "({}).sum(axis=0)", "({}).sum(axis=-1, keepdims=True)", "({}).mean()",
    "({}).mean(axis=-1, keepdims=True)", "({}).max(axis=-1, keepdims=True)", "({}).copy()", "float({})", "int({})",
    "list({})", "sorted({})", "len({})", "set({})", "not ({})", "1 / ({})", "1 - ({})", "({}) + 1", "({}) - 1",
    "2 * ({})", "({}) / 2", "({}) ** 2", "({}) ** 3",
)  # fmt: skip
JOINED = ("({}) * {}", "({}) + {}", "({}) - {}", "({}) / {}")
POWERS = ("({}) * {}**2", "({}) * {}**3")
ACROSS = ("({}) * {}[:, None]", "({}) + {}[:, None]", "({}) - {}[:, None]", "({}) / {}[:, None]")
LACKING = ast.BinOp | ast.UnaryOp | ast.Call | ast.Name | ast.Subscript | ast.Attribute | ast.IfExp | ast.Constant
MOST = 12                                            # parts of a function that may be missing somewhere else in it


def omitted(node, function, names, called):
    """(rank, words, a function that makes the expression with what may be missing)

    names       what is known in the function, which may be a term or a factor, or its square or cube, and its parts
    called      functions of one argument
    """
    if not isinstance(node, LACKING) or (isinstance(node, ast.Constant) and not isinstance(node.value, float)):
        return
    says = f"with a sign, a factor, a term or a function more at {short(node)}"
    for way in WRAPPED:
        yield (1 if way == "-({})" else 3), says, partial(filled, way, node)
    for name in called:
        yield 2, says, partial(filled, f"{name}({{}})", node)
    for way, name in itertools.product((*JOINED, *POWERS, *ACROSS), names):
        yield (2 if way in JOINED else 3), says, partial(filled, way.format("{}", name), node)
    if not isinstance(node, ast.Name):
        for way, part in itertools.product(JOINED, parts_of(function)):
            if part is not node:
                yield 4, says, partial(joined, way, node, part)


def parts_of(function):
    """The expressions of a function that compute something, once each."""
    computed = [node for node in ast.walk(function) if isinstance(node, ast.BinOp | ast.Call | ast.Subscript)]
    return list({ast.unparse(node): node for node in computed}.values())[:MOST]


def joined(way, node, part):
    new = filled(way.format("{}", "__"), node)
    (right,) = [field for field in ("left", "right") if is_gap(getattr(new, field), "__")]
    setattr(new, right, copy.deepcopy(part))         # it may hold the node itself
    return at(new, node)


@functools.cache
def template(way):
    return ast.parse(way.format("_"), mode="eval").body


def filled(way, node):
    """The way with the node in the place of _."""
    new = copy.deepcopy(template(way))
    for parent in ast.walk(new):
        for field, value in ast.iter_fields(parent):
            if is_gap(value):
                setattr(parent, field, node)
                return at(new, node)
            if isinstance(value, list) and value and is_gap(value[0]):
                value[0] = node
                return at(new, node)
    raise AssertionError(way)


def is_gap(node, name="_"):
    return isinstance(node, ast.Name) and node.id == name


def at(new, node):
    return ast.fix_missing_locations(ast.copy_location(new, node))


def short(node):
    text = " ".join(ast.unparse(node).split())
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
