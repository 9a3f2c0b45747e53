"""Public names of a room, imported when they are first asked for.

    __getattr__, __dir__, __all__ = public(__name__, {"TinyWorlds": "tiny_worlds", ...})       # name: its module
"""

import importlib


def public(package, homes):
    def __getattr__(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f".{homes[name]}", package), name)

    def __dir__():
        return sorted(homes)

    return __getattr__, __dir__, sorted(homes)
