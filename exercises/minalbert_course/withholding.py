"""The library without its own answers to an exercise, while a student's code is marked."""

import contextlib
import functools

OURS = ("minalbert.", "minalbert_course.")           # how the names of our modules begin


def is_ours(function):
    return str(getattr(function, "__module__", "")).startswith(OURS)


@contextlib.contextmanager
def withholding(functions):
    """Meanwhile the library's functions raise when they are called, whoever holds them, under whatever name.

    A function stays the same object and gets other code. Not for two threads that withhold at the same time.
    """
    codes = {function: function.__code__ for function in functions}
    for function in codes:
        function.__code__ = refusing(function)
    try:
        yield
    finally:
        for function, code in codes.items():
            function.__code__ = code


@functools.cache
def refusing(function, why="is the answer to this exercise"):
    """The code of a function that takes any arguments and says whose answer it is."""
    message = f"the library's {function.__qualname__} {why}; write your own"
    names = {}
    exec(f"def refused(*args, **kwargs):\n    raise RuntimeError({message!r})", names)
    return names["refused"].__code__
