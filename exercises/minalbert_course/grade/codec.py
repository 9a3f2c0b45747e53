"""Values as bytes and back: numbers, text, arrays, tuples, lists, dicts, and nothing that could run.

    4 bytes: length of the JSON     8 bytes: length of the arrays     JSON     arrays, one after the other

Pickle would run what a submission put into it. Here whatever has no place in the format comes out as `Strange`.
"""

import json
import math
import struct
from typing import NamedTuple

import numpy as np

from ..given import Given
from ..values import OnDevice, Opaque

HEAD = struct.Struct("<IQ")
MOST, MOST_TEXT = 64 * 2**20, 4 * 2**20              # bytes of an answer; of it what is not arrays
PLAIN = {bool, int, float, str, type(None)}


class CodecError(ValueError):
    """Bytes that are no message of ours."""


class Strange(NamedTuple):
    """Something that a function returned and that is no value a check asks for."""

    kind: str

    def __repr__(self):
        return ascii(self.kind)[1:-1][:60]


def dumps(value):
    arrays = []
    text = json.dumps(tree(value, arrays)).encode()
    body = b"".join(array.tobytes() for array in arrays)
    return HEAD.pack(len(text), len(body)) + text + body


def packed(value):
    """A message as an array, which may be a part of another one: equal values have equal bytes, as a rule."""
    return np.frombuffer(dumps(value), np.uint8)


def unpacked(array):
    message = array.tobytes()
    text, _ = sizes(message[: HEAD.size])
    return loads(message[HEAD.size :], text)


def tree(value, arrays):
    if type(value) in PLAIN or plain_lists(value):
        return value
    if type(value) is tuple and PLAIN.issuperset(map(type, value)):
        return {"tuple": value}
    if isinstance(value, np.generic) and value.dtype.kind in "fiubU":
        return value.item()
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "fiubc" or array.dtype.itemsize > 16:
            return {"strange": f"an array of {array.dtype}"}
        arrays.append(array)
        return {"array": [array.dtype.str, list(array.shape)]}
    if isinstance(value, Given):
        return {"given": [value.kind, [tree(part, arrays) for part in value.args]]}
    if isinstance(value, Opaque):
        return {"opaque": value.value}
    if isinstance(value, OnDevice):
        return {"device": tree(value.host, arrays)}
    if isinstance(value, tuple | list | range):
        name = "tuple" if isinstance(value, tuple) else "list"
        return {name: [tree(part, arrays) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[tree(key, arrays), tree(part, arrays)] for key, part in value.items()]}
    return {"strange": f"a {type(value).__name__}"}


def plain_lists(value):
    """Is it a list of plain values, or of such lists? JSON has them, too."""
    return type(value) is list and (PLAIN.issuperset(map(type, value)) or all(map(plain_lists, value)))


def sizes(head):
    """(bytes of text, bytes of arrays) after these twelve."""
    text, body = HEAD.unpack(head)
    if text + body > MOST or text > MOST_TEXT:
        allowed = (MOST if text + body > MOST else MOST_TEXT) // 2**20
        raise CodecError(f"an answer of {(text + body) / 2**20:,.0f} MB; {allowed} are allowed")
    return text, body


def loads(message, text):
    """The value of a message without its head; text: bytes of it that are JSON"""
    try:
        return value_of(json.loads(message[:text]), memoryview(message)[text:], [0])
    except Exception as error:                       # nobody knows what was sent
        raise CodecError(f"bytes that are no answer: {type(error).__name__}") from error


def value_of(node, body, place):
    if not isinstance(node, dict):
        return node
    ((kind, inside),) = node.items()
    if kind == "array":
        return array_of(inside, body, place)
    if kind == "given":
        name, args = inside
        return Given(name, tuple(value_of(part, body, place) for part in args))
    if kind == "opaque":
        return Opaque(inside)
    if kind == "device":
        return OnDevice(value_of(inside, body, place))
    if kind == "strange":
        return Strange(str(inside))
    if kind == "dict":
        pairs = [(value_of(key, body, place), value_of(part, body, place)) for key, part in inside]
        return {tuple(key) if isinstance(key, list) else key: part for key, part in pairs}
    if dict in map(type, inside):
        inside = [value_of(part, body, place) for part in inside]
    return {"tuple": tuple, "list": list}[kind](inside)


def array_of(described, body, place):
    dtype, shape = np.dtype(described[0]), [int(n) for n in described[1]]
    if dtype.kind not in "fiubc" or min(shape, default=0) < 0:
        raise CodecError("an array of what is no number")
    start, count = place[0], math.prod(shape)
    place[0] += count * dtype.itemsize
    if place[0] > len(body):
        raise CodecError("an array that is not there")
    return np.frombuffer(body, dtype, count, start).reshape(shape).copy()
