"""What a function returned that is not new: memory, lists and dicts of arguments, of earlier results, of each other."""

import itertools

import numpy as np

from .copying import UNCHANGEABLE, flat
from .values import parts

EARLIER = "what it had returned before"
MEMORY_OF = "memory of "
ITSELF = f"{MEMORY_OF}a list or dict that it had returned before"
GIVEN = f"{MEMORY_OF}a list that it was given"


def shared(returned, others_need):
    """What the arrays that were returned share their memory with, in words."""
    own = {}                                         # whose memory -> arrays of it
    for array in arrays_in(returned):
        own.setdefault(id(owner(array)), []).append(array)
    if not own:
        return []
    found = [
        what
        for what, value in others_need.items()
        if any(shares(one, array) for array in arrays_in(value) for one in own.get(id(owner(array)), ()))
    ]
    if any(shares(*pair) for arrays in own.values() for pair in itertools.combinations(arrays, 2)):
        found.append("another of its results")
    return [f"{MEMORY_OF}{what}" for what in found]


def handed_back(returned, given, before):
    """What lists or dicts that were returned are, in words, if not new ones: of those before, or a list that was given

    A dict that was given may be returned, where the sheet says so.
    """
    if not (ours := {id(part) for part in changeable_in(returned)}):
        return []
    found = [ITSELF] if any(id(part) in ours for part in changeable_in(before)) else []
    theirs = (part for value in given.values() for part in changeable_in(value))
    return found + ([GIVEN] if any(id(part) in ours and isinstance(part, list) for part in theirs) else [])


def changeable_in(value):
    """The lists and dicts in it"""
    found, left = {}, [value]
    for part in left:
        if id(part) in found:                        # it holds itself, say
            continue
        if isinstance(part, (list, dict)):
            found[id(part)] = part
        left += (inner for inner in parts(part) if type(inner) not in UNCHANGEABLE)
    return list(found.values())


def arrays_in(value):
    """The arrays in it"""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        return [array for part in value.values() for array in arrays_in(part)]
    if isinstance(value, list | tuple) and not flat(value):
        return [array for part in value for array in arrays_in(part)]
    return []


def owner(view):
    """The array or buffer that the memory belongs to"""
    return [*views(view)][-1]


def owning_array(array):
    """The last array on the way to the owner of its memory, which is its owner unless that is a buffer"""
    return [view for view in views(array) if isinstance(view, np.ndarray)][-1]


def views(view):
    """An array or buffer, what it is a view of, what that is a view of, and so on to the owner"""
    while view is not None:
        yield view
        view = view.obj if isinstance(view, memoryview) else getattr(view, "base", None)


def shares(one, other):
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=10000)
    except np.exceptions.TooHardError:
        return False
