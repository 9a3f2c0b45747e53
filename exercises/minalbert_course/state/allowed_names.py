"""Names of Python, NumPy and other modules that a function may use: none leads to what stays from call to call."""

import builtins
import sys

import numpy as np

MODULES = set("""collections copy cupy dataclasses fractions functools itertools json math numbers numpy operator os
    safetensors sys typing""".split())
BY_TEXT = {"attrgetter", "call", "methodcaller"}     # functions of operator that call or read whatever a text names
PARTS_OF = {"os": {"fspath", "path"}, "sys": {"modules"}}    # of these modules nothing else
OURS = set("""minalbert minalbert.errors minalbert.layers minalbert.layers.erf minalbert.optim minalbert_course.block
    minalbert_course.makers.small_language""".split())
FROM = MODULES - {"cupy", *PARTS_OF} | OURS | {"__future__", "collections.abc", "pathlib", "safetensors.numpy"}
ALIASES = {"np", "random"} | sys.stdlib_module_names         # modules that other modules have as attributes
BUILTINS = set("""abs all any bool bytes callable chr complex dict divmod enumerate filter float frozenset hasattr int
    isinstance issubclass iter len list map max min next object open ord pow print property range repr reversed round
    set slice sorted staticmethod str sum tuple type zip __name__""".split())
NUMBERS = {"inf", "nan", "pi"}
FILLED = set("all any copyto max mean min nansum prod std sum var".split())              # with where=, too
NUMPY = NUMBERS | FILLED | set("""allclose amax amin apply_along_axis apply_over_axes arange argmax argmin argpartition
    argsort argwhere array array_equal asarray ascontiguousarray asfortranarray average bincount broadcast_to choose
    clip column_stack concatenate copy count_nonzero cumsum diag diagonal diff dot dtype einsum errstate expand_dims eye
    finfo flatnonzero flip fromiter full full_like hstack identity iinfo imag indices inner isclose isscalar ix_ linalg
    linspace moveaxis ndarray ndenumerate ndim ndindex newaxis nonzero ones ones_like outer pad put put_along_axis
    putmask r_ random ravel real repeat reshape result_type searchsorted select shape size sort split squeeze stack
    swapaxes take take_along_axis tensordot tile transpose tri tril triu unique unravel_index vdot vectorize vstack
    where zeros zeros_like""".split())


def is_allowed_of_numpy(name):
    """Its functions that are listed, all ufuncs, and all types of numbers"""
    found = getattr(np, name, None)
    return name in NUMPY or isinstance(found, np.ufunc) or (isinstance(found, type) and issubclass(found, np.generic))


def is_allowed_of_cupy(name):
    return is_allowed_of_numpy(name) or name in {"asnumpy", "get_array_module"}


def is_forbidden_of_numpy(name):
    """Another name of NumPy's, by which no usual value has anything"""
    usual = any(hasattr(kind, name) for kind in (np.ndarray, list, dict, str))
    return hasattr(np, name) and not is_allowed_of_numpy(name) and not usual


def is_allowed_of_python(name):
    """The builtins that are listed, and all exceptions"""
    found = getattr(builtins, name, None)
    return name in BUILTINS or (isinstance(found, type) and issubclass(found, BaseException))
