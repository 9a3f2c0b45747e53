"""Conditions, loops, ranges, slices, statements, and what a name stands for."""

import ast
import itertools

from .edit import Edit, operator

COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.In: "in",
            ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}  # fmt: skip
OTHERS = {"<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=", "<=", ">="),
          "!=": ("==", "<", ">"), "in": ("not in",), "not in": ("in",),
          "is": ("is not",), "is not": ("is",)}  # fmt: skip


@operator("comparisons")
def comparisons(f):
    for node in f.all(ast.Compare):
        sign, left, right = COMPARED[type(node.ops[0])], f.of(node.left), f.of(node.comparators[0])
        for other in OTHERS[sign]:
            yield node, f.put(node, f"{left} {other} {right}"), f"{sign} became {other} in {f.of(node)}"
    for node in f.all(ast.BoolOp):
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        values = [f"({f.of(value)})" for value in node.values]
        yield node, f.put(node, f" {other} ".join(values)), f"{word} became {other}"
        for i, value in enumerate(node.values):
            rest = f" {word} ".join(values[:i] + values[i + 1 :])
            yield node, f.put(node, rest), f"{f.of(value)} is left out of {f.of(node)}"


@operator("conditions")
def conditions(f):
    """Turned round, always true, never true."""
    for node in f.all(ast.If, ast.IfExp, ast.While):
        test = f.of(node.test)
        news = {f"not ({test})": "is turned round", "True": "is always true", "False": "is never true"}
        for new, what in news.items():
            yield node, f.put(node.test, new), f"the condition {test} {what}"
    for node in f.all(ast.While):
        start = f.offset(node.lineno, node.col_offset)
        yield node, [Edit(start, start + len("while"), "if")], f"once, where it must be as long as {f.of(node.test)}"
    for node in f.all(ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            yield node, f.put(node, f.of(node.operand)), f"the not of {f.of(node)} is dropped"


def iterations(f):
    """The expressions that loops run through."""
    found = [(node, node.iter) for node in f.all(ast.For)]
    for node in f.all(ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp):
        found += [(node, generator.iter) for generator in node.generators]
    return found


@operator("loops")
def loops(f):
    for node, over in iterations(f):
        text = f.of(over)
        ways = {
            "list({})[1:]": "the first is left out", "list({})[:-1]": "the last is left out",
            "list({})[:1]": "only the first", "list({})[-1:]": "only the last", "list({})[:2]": "only two",
            "list({})[:3]": "three at most", "list({})[::-1]": "from the end", "list({})[::2]": "every second",
            "2 * list({})": "twice", "sorted({}, key=str)": "in another order", "sorted(set({}))": "without repeats",
        }  # fmt: skip
        for way, what in ways.items():
            yield node, f.put(over, way.format(text)), f"the loop over {text}: {what}"
        if isinstance(over, ast.Call) and f.of(over.func) == "reversed":
            yield node, f.put(over, f.of(over.args[0])), f"{text} is no longer reversed"
    for node in f.all(ast.For):
        last = node.body[-1]
        yield node, f.statements(last, f"{f.of(last)}\nbreak"), f"the loop over {f.of(node.iter)} ends after one pass"


@operator("ranges")
def ranges(f):
    for node in f.all(ast.Call):
        name = f.of(node.func)
        if name == "range" or name.endswith((".arange", ".integers", ".random", ".choice")):
            parts = [f.of(argument) for argument in node.args]
            keywords = "".join(f", {f.of(keyword)}" for keyword in node.keywords)
            for i, part in enumerate(parts):
                for new in (f"{part} + 1", f"{part} - 1", f"max({part}, 2)", f"min({part}, 3)"):
                    changed = ", ".join([*parts[:i], new, *parts[i + 1 :]])
                    yield node, f.put(node, f"{name}({changed}{keywords})"), f"{part} became {new} in {f.of(node)}"


@operator("slices")
def slices(f):
    for node in f.all(ast.Slice):
        low, high = (f.of(part) if part else "" for part in (node.lower, node.upper))
        news = {f"{high}:{low}": "the other part", f"{low}:{high}:-1": "backwards", ":": "all"}
        if high:
            news |= {f"{low}:{high} - 1": "one too few", f"{low}:{high} + 1": "one too many",
                     f"-({high}):": "from the end"}  # fmt: skip
        if low:
            news |= {f"{low} + 1:{high}": "one too few", f"{low} - 1:{high}": "one too many"}
        for new, what in news.items():
            yield node, f.replace(node, new), f"the slice {f.of(node)} became {new}: {what}"
    for node in f.all(ast.Subscript):
        if isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant):
            continue
        text = f.of(node.slice)
        for new in (f"{text} - 1", f"{text} + 1", f"-({text})", f"0 * {text}"):
            yield node, f.replace(node.slice, new), f"the index {text} became {new}"
        yield node, f.put(node, f.of(node.value)), f"the index {text} is dropped"


@operator("statements")
def statements(f):
    """Dropped, done twice, swapped with the next, = for += and += for =."""
    for node in f.nodes:
        if not isinstance(node, ast.stmt) or isinstance(node, ast.If | ast.For | ast.While):
            continue
        text = f.of(node)
        short = text.splitlines()[0]
        yield node, f.statements(node, "pass"), f"the statement is dropped: {short}"
        if isinstance(node, ast.AugAssign | ast.Expr):
            yield node, f.statements(node, f"{text}\n{text}"), f"the statement is done twice: {short}"
        if isinstance(node, ast.AugAssign):
            target, value = f.of(node.target), f.of(node.value)
            yield node, f.statements(node, f"{target} = {value}"), f"= in place of += for {target}"
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = f.of(node.targets[0]), f.of(node.value)
            if isinstance(node.targets[0], ast.Name | ast.Subscript):
                yield node, f.statements(node, f"{target} += {value}"), f"+= in place of = for {target}"
            if isinstance(node.targets[0], ast.Subscript):
                new = f"if {f.of(node.targets[0].slice)} not in {f.of(node.targets[0].value)}:\n    {text}"
                yield node, f.statements(node, new), f"only the first is kept for {target}"
        body = next((body for body in bodies(f, node) if node in body), [])
        following = body[body.index(node) + 1 :] if body else []
        if following and depend(node, following[0]):
            other = f.of(following[0])
            edits = f.statements(node, other) + f.statements(following[0], text)
            yield node, edits, f"the statement comes after the next: {short}"


def depend(node, following):
    """Does their order matter, as far as names tell? Neither may be a loop or a condition."""
    if isinstance(following, ast.If | ast.For | ast.While):
        return False
    (stored, loaded), (stored_next, loaded_next) = touched(node), touched(following)
    return bool(stored & (stored_next | loaded_next) or loaded & stored_next) or isinstance(following, ast.Return)


def touched(node):
    """(names that a statement may change, names that it reads)"""
    names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    stored = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    loaded = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    parts = [call.func, *call.args[:1]] if call else []                     # x.append(...), np.add.at(table, ...)
    changed = {inner.id for part in parts for inner in ast.walk(part) if isinstance(inner, ast.Name)} - {"np", "xp"}
    kept = {inner.value.id for inner in ast.walk(node) if isinstance(inner, ast.Subscript)
            and isinstance(inner.ctx, ast.Store) and isinstance(inner.value, ast.Name)}  # fmt: skip
    return stored | kept | changed | ({"rng"} & loaded), loaded


def bodies(f, node):
    parent = f.parent[node]
    return [getattr(parent, name) for name in ("body", "orelse") if isinstance(getattr(parent, name, None), list)]


@operator("names")
def other_names(f):
    """A variable for another that is known there: the one before it."""
    for node in f.all(ast.Name):
        if not isinstance(node.ctx, ast.Load) or f"    {node.id} = cache\n" in f.of(f.node):
            continue
        known = names_before(f, node)
        if node.id in known:
            place, others = known.index(node.id), [name for name in known if name != node.id]
            for other in others[place - 1 : place] or others[:1]:
                yield node, f.replace(node, other), f"{other} in place of {node.id} in {f.of(f.parent[node])}"


def names_before(f, node):
    stored = [other.id for other in f.all(ast.Name) if isinstance(other.ctx, ast.Store) and other.lineno < node.lineno]
    return list(dict.fromkeys(f.arguments + stored))


@operator("orders")
def other_orders(f):
    """Neighbours swapped: arguments of a call, values of a tuple or list, targets."""
    for node in f.all(ast.Call, ast.Tuple, ast.List, ast.Dict):
        if isinstance(node, ast.Call) and f.of(node.func).endswith("swapaxes"):
            continue
        parts = node.args if isinstance(node, ast.Call) else node.values if isinstance(node, ast.Dict) else node.elts
        for a, b in itertools.pairwise(parts):
            if isinstance(a, ast.Starred) or isinstance(b, ast.Starred):
                continue
            edits = f.replace(a, f.of(b)) + f.replace(b, f.of(a))
            yield node, edits, f"{f.of(a)} and {f.of(b)} are swapped in {f.of(node)}"
    for node, values in f.returns():
        for value in values:
            if len(values) > 1:
                for new in ("None", "0.0"):
                    yield node, f.replace(value, new), f"{new} is returned in place of {f.of(value)}"
