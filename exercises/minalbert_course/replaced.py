"""Functions of the library, for a while replaced wherever they were imported to."""

import contextlib
import sys

from minalbert.layers import GELU


@contextlib.contextmanager
def replaced(functions, namespace=None):
    """functions: {the library's own: another}. Whoever has the first by name, of minalbert's modules and in a
    namespace of somebody else's, has the second. Not for two threads with functions of their own."""
    by_id = {id(original): (original, other) for original, other in functions.items()}
    ours = [vars(module) for name, module in list(sys.modules.items()) if by_id and in_reach(name)]
    places = [
        (names, key, by_id[id(value)])
        for names in [*ours, *([] if namespace is None else [namespace])]
        for key, value in list(names.items())
        if id(value) in by_id
    ]
    for names, key, (_, other) in places:
        names[key] = other
    forms = dict(GELU)
    GELU.update((form, tuple(functions.get(function, function) for function in pair)) for form, pair in forms.items())
    try:
        yield
    finally:
        GELU.update(forms)
        for names, key, (original, _) in places:
            names[key] = original


def in_reach(name):
    """A module of ours, but for the course's checks, which compare with the library's own."""
    ours = f"{name}.".startswith(("minalbert.", "minalbert_course."))
    return ours and not name.startswith("minalbert_course.lessons")
