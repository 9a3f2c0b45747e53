"""Functions of the library, for a while replaced wherever they were imported to."""

import contextlib
import sys

from .layers import GELU


@contextlib.contextmanager
def replaced(functions):
    """functions: {the library's own: another}. Every module of minalbert that has the first sees the second."""
    by_id = {id(original): (original, other) for original, other in functions.items()}
    places = []
    for name, module in list(sys.modules.items()):
        if by_id and (name == "minalbert" or name.startswith("minalbert.")) and not in_the_course(name):
            places += [(vars(module), key, by_id[id(value)]) for key, value in list(vars(module).items())
                       if id(value) in by_id]  # fmt: skip
    for namespace, key, (_, other) in places:
        namespace[key] = other
    forms = dict(GELU)
    GELU.update((form, tuple(functions.get(function, function) for function in pair)) for form, pair in forms.items())
    try:
        yield
    finally:
        GELU.update(forms)
        for namespace, key, (original, _) in places:
            namespace[key] = original


def in_the_course(name):
    """Its checks compare with the library's own."""
    return name.startswith("minalbert.course.lessons")
