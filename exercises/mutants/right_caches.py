"""Caches of other kinds, and none: backward computes forward once more."""

import ast

from .edit import RIGHT, operator
from .memory import cache_of, partner_of

CACHES = {                                           # how forward keeps what it had kept -> how backward gets it
    "a dict": ("{'kept': KEPT}", "cache['kept']"),
    "a list": ("[KEPT]", "cache[0]"),
    "a function": ("(lambda kept: lambda: kept)(KEPT)", "cache()"),
    "a class": ("type('Cache', (), {})()", None),
    "an iterator": ("iter([KEPT])", "next(cache)"),
    "a dict that backward empties": ("{'kept': KEPT}", "cache.pop('kept')"),
    "a dict whose entry backward sets to None": ("{'kept': KEPT}", "[cache['kept'], cache.update(kept=None)][0]"),
    "a list that backward clears": ("[KEPT]", "[cache[0], cache.clear()][0]"),
    "a dict with an array that backward writes into":
        ("{'kept': KEPT, 'ones': np.ones(3)}", "[cache['ones'].fill(0), cache['kept']][1]"),
    "a dict whose array backward drops":
        ("{'kept': KEPT, 'ones': np.ones(3)}", "[cache.update(ones=None), cache['kept']][1]"),
    "a list whose array backward drops": ("[np.ones(3), KEPT]", "[cache.__setitem__(0, None), cache[1]][1]"),
    "text and sets beside it": ("('kept', {1, 2}, None, 3j, KEPT)", "cache[-1]"),
}  # fmt: skip

USED_UP = ("an iterator", "a dict that backward empties", "a dict whose entry backward sets to None",
           "a list that backward clears")            # exercise 6 forbids it


@operator("caches", among=RIGHT)
def caches(f):
    """Other things to keep a cache in, emptied by backward or not, and forward computed once more in backward."""
    forward = partner_of(f)
    if forward is None:
        return
    for value in cache_of(forward):
        kept = f.of(value)
        for what, (keep, get) in CACHES.items():
            if get is None:
                new, read = f"Box({kept})", "cache = cache.kept"
                edits = forward.above("class Box:\n    def __init__(self, kept):\n        self.kept = kept")
            else:
                new, read, edits = keep.replace("KEPT", kept), f"cache = {get}", []
            if f.lesson.exercise != "ex06" or what not in USED_UP:
                yield f.body[0], edits + f.put(value, new) + f.at_start(read), f"the cache is {what}"
        name, arguments = forward.name, ", ".join(forward.arguments)
        again = f"def {name}({arguments}):\n    return once_{name}({arguments})[:-1] + (({arguments},),)"
        header = f.text.index(f"def {name}(", f.starts[forward.node.lineno - 1]) + len("def ")
        edits = f.above(again) + f.at_start(f"cache = once_{name}(*cache)[-1]")
        yield f.body[0], [*edits, f.edit(header, header, "once_")], "backward computes forward once more"
        store = f"STORE.append({kept}) or len(STORE) - 1"
        yield f.body[0], [*f.put(value, store), *f.at_start("cache = STORE[cache]"), *forward.above("STORE = []")], (
            "the cache is a number, under which a list has it"
        )
        if isinstance(value, ast.Tuple):
            for i, j in ((0, -1), (0, 1)):
                parts = [f.of(part) for part in value.elts]
                parts[i], parts[j] = parts[j], parts[i]
                places = list(range(len(parts)))
                places[i], places[j] = places[j], places[i]
                read = f.at_start(f"cache = tuple(cache[i] for i in {places})")
                yield f.body[0], f.put(value, ", ".join(parts)) + read, "the cache in another order"
