"""Public names of a room, imported when they are first asked for.

    __getattr__, __dir__, __all__ = public(__name__, {"Corpus": "shards", "build_corpus": "build:build"})

Each name comes with its module in the room, and with its name there, if that is another.
"""

import importlib


def public(package, homes):
    def __getattr__(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, there = homes[name].partition(":")
        return getattr(importlib.import_module(f".{module}", package), there or name)

    def __dir__():
        return sorted(homes)

    return __getattr__, __dir__, sorted(homes)
