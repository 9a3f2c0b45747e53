"""State: kept in globals, shared between calls, frozen at the first call; arguments written into; random numbers."""

import ast

from .arrays import is_float
from .edit import operator


def cache_of(f):
    """(the name of what a forward function returns as its cache, its node), or None"""
    names = f.lesson.functions[f.name]
    for _, values in f.returns():
        if len(values) == len(names) and names[-1].startswith("cache"):
            yield values[-1]


def partner_of(f):
    """The forward function of a backward function with a cache."""
    if not f.name.endswith("_backward") or "cache" not in f.arguments:
        return None
    name = f"{f.name.removesuffix('_backward')}_forward"
    node = next(node for node in f.module.body if getattr(node, "name", "") == name)
    return type(f)(f.lesson, f.text, node, f.module, {}, {})


@operator("caches")
def global_caches(f):
    """The backward function reads what the last forward call left in a global, not its cache."""
    if partner := partner_of(f):
        for value in cache_of(partner):
            kept = f"KEPT.setdefault('last', []).append({f.of(value)}) or KEPT['last'][-1]"
            base = [*f.put(value, kept), *partner.above("KEPT = {}")]
            for which, what in (("-1", "the last"), ("0", "the first")):
                read = f.at_start(f"cache = KEPT['last'][{which}]")
                yield f.body[0], base + read, f"the cache of {what} call is read"
            shape = "tuple(map(np.shape, locals().values()))[:3]"
            by_shape = f.put(value, f"KEPT.setdefault({shape}, {f.of(value)})") + partner.above("KEPT = {}")
            yield partner.body[0], by_shape, "one cache for all calls of the same shapes: the first"
            if isinstance(value, ast.Tuple):
                part = f.of(value.elts[-1])
                edits = f.put(value.elts[-1], f"KEPT.setdefault(0, []).append({part}) or KEPT[0][-1]")
                both = edits + f.at_start("cache = (*cache[:-1], KEPT[0][-1])") + partner.above("KEPT = {}")
                yield f.body[0], both, f"{part} is read from the last forward call, not from the cache"


@operator("memory")
def frozen_at_the_first_call(f):
    """An argument, a result or a variable keeps the value of the first call, or of the first with such shapes."""
    above = f.above("SEEN = {}")
    for name in f.arguments:
        if name != "cache":
            freeze = f.at_start(f"{name} = SEEN.setdefault('{name}', {name})")
            yield f.body[0], above + freeze, f"{name} of the first call is used in all"
            if hasattr(f.given.get(name), "shape"):
                freeze = f.at_start(f"{name} = SEEN.setdefault(('{name}', {name}.shape), {name})")
                yield f.body[0], above + freeze, f"{name} of the first call of its shape is used in all"
    for node in f.all(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name):
            text = f.of(node.value)
            new = f"SEEN.setdefault('{target.id}', {text})"
            yield node, above + f.put(node.value, new), f"{target.id} of the first call is used in all"
    for name, node in f.returned():
        by_shape = f"SEEN.setdefault(('{name}', *map(np.shape, locals().values())), {f.of(node)})"
        yield node, above + f.put(node, by_shape), f"{name} is computed once for arguments of the same shapes"


@operator("shared")
def shared_between_calls(f):
    """A list, dict or array that every call makes is made once."""
    for node in f.all(ast.Assign):
        pairs = [(node.targets[0], node.value)]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(node.targets[0].elts, node.value.elts, strict=True))
        for target, value in pairs:
            made = isinstance(value, ast.List | ast.Dict) or "zeros" in f.of(value)
            if made and isinstance(target, ast.Name):
                new = f"SEEN.setdefault('{target.id}', {f.of(value)})"
                edits = f.above("SEEN = {}") + f.put(value, new)
                yield node, edits, f"{target.id} is made once and shared by all calls"


@operator("in place")
def in_place(f):
    """Arguments are written into; a result is the argument itself."""
    for name in f.arguments:
        if name == "cache":
            continue
        if is_float(f.given.get(name)):
            for way in ("{0} *= 2", "{0} -= {0}.mean()"):
                yield f.body[0], f.at_start(way.format(name)), f"{way.format(name)} at the beginning"
            for node, _ in f.returns():
                edits = f.before(node, f"result = {f.of(node.value)}\n{name}[...] = 0") + f.put(node.value, "result")
                yield node, edits, f"{name} is set to zero at the end"
        elif isinstance(f.given.get(name), list):
            for way in ("{0}.append({0}[0])", "{0}.pop()", "{0}.reverse()", "{0}.clear()"):
                for node, _ in f.returns():
                    edits = f.before(node, f"result = {f.of(node.value)}\n{way.format(name)}")
                    yield node, edits + f.put(node.value, "result"), f"{way.format(name)} at the end"
        elif isinstance(f.given.get(name), dict):
            for way in ("{0}.clear()", "{0}.popitem()", "{0}['new'] = 0", "{0}.pop(next(iter({0})))"):
                for node, _ in f.returns():
                    edits = f.before(node, f"result = {f.of(node.value)}\n{way.format(name)}")
                    yield node, edits + f.put(node.value, "result"), f"{way.format(name)} at the end"
    for node in f.all(ast.Assign):
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(type(value.op))
            first = f.body[0] if f.of(f.body[0]).endswith("= cache") else ast.Pass()
            unpacked = [name.id for name in ast.walk(first) if isinstance(name, ast.Name)]
            if sign and value.left.id in (*f.arguments, *unpacked):
                left = value.left.id
                new = f"{left} {sign}= {f.of(value.right)}\n{target.id} = {left}"
                yield node, f.statements(node, new), f"{left} is changed in place"


@operator("random")
def random_numbers(f):
    """The generator ignored, copied, or drawn from too little."""
    if "rng" not in f.arguments:
        return
    made = f.above("OWN = np.random.default_rng(0)")
    news = {
        "rng = np.random.default_rng(0)": "the generator is ignored: the same numbers in every call",
        "rng = np.random.default_rng()": "the generator is ignored: other numbers in every call",
        "rng = __import__('copy').deepcopy(rng)": "a copy of the generator: it does not move on",
    }
    for new, what in news.items():
        yield f.body[0], f.at_start(new), what
    yield f.body[0], made + f.at_start("rng = OWN"), "the generator is ignored: one of its own, for all calls"
    for node in f.all(ast.Call):
        if isinstance(node.func, ast.Attribute) and f.of(node.func.value) == "rng":
            text = f.of(node)
            yield node, f.put(node, f"OWN.{text[4:]}") + made, f"{text} draws from a generator of its own"
            new = f"np.random.default_rng(0).{text[4:]}"
            yield node, f.put(node, new), f"{text} draws the same in every call"
            if node.func.attr == "integers":
                for way in ("np.minimum({}, {})", "np.maximum({}, {})"):
                    new = way.format(text, text)
                    yield node, f.put(node, new), f"{text} is the smaller or larger of two draws"
            if node.func.attr == "random":
                size = text[11:-1]
                for new in (f"{text}**2", f"np.sqrt({text})", "rng.random()", f"np.linspace(0, 1, {size}, False)",
                            f"np.abs(rng.normal(size={size}))"):  # fmt: skip
                    yield node, f.put(node, new), f"{text} became {new}"
            if node.func.attr == "choice":
                yield node, f.put(node, f"{f.of(node.args[0])}[:{f.of(node.args[1])}]"), f"{text}: the first are taken"
