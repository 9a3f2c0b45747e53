"""Values as bytes and back: numbers, text, arrays, tuples, lists, dicts, and nothing that could run.

    4 bytes: length of the JSON     8 bytes: length of the arrays     JSON     arrays, one after the other

Pickle would run what a submission put into it. Here whatever has no place in the format comes out as `Strange`.
"""

import functools
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
as_json = json.JSONEncoder(separators=(",", ":")).encode
of_json = json.JSONDecoder().decode


class CodecError(ValueError):
    """Bytes that are no message of ours."""


class Strange(NamedTuple):
    """Something that a function returned and that is no value a check asks for."""

    kind: str

    def __repr__(self):
        return ascii(self.kind)[1:-1][:60]


class Packed(bytes):
    """A message that is a part of another one. Equal values have equal bytes, as a rule."""


def dumps(value):
    arrays = []
    text = as_json(tree(value, arrays)).encode()
    body = b"".join(arrays)
    return HEAD.pack(len(text), len(body)) + text + body


def packed(value):
    return Packed(dumps(value))


def unpacked(message):
    if not isinstance(message, Packed) or len(message) < HEAD.size:
        raise CodecError("a part of an answer that is none")
    text, _ = sizes(message[: HEAD.size])
    return loads(message[HEAD.size :], text)


# What a value is in JSON: itself, or {kind: what belongs to it}; of an array {dtype: shape}


def tree(value, arrays):
    """arrays: bytes of those that are met are appended"""
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in TREES:
        return TREES[kind](value, arrays)
    if isinstance(value, np.generic) and value.dtype.kind in "fiubU":
        return value.item()
    known = next((base for base in (np.ndarray, np.generic, tuple, list, dict) if isinstance(value, base)), None)
    return TREES[known](value, arrays) if known else {"strange": f"a {kind.__name__}"}


def of_array(value, arrays):
    array = np.asarray(value)
    if array.dtype.kind not in "fiubc" or array.dtype.itemsize > 16:
        return {"strange": f"an array of {array.dtype}"}
    arrays.append(array.tobytes())
    return {array.dtype.str: array.shape}


def of_list(value, arrays):
    """JSON has lists, too."""
    return value if PLAIN.issuperset(map(type, value)) else [tree(part, arrays) for part in value]


def of_tuple(value, arrays):
    return {"tuple": of_list(value, arrays)}


def of_dict(value, arrays):
    return {"dict": [[tree(key, arrays), tree(part, arrays)] for key, part in value.items()]}


def of_message(value, arrays):
    arrays.append(value)
    return {"packed": len(value)}


TREES = {
    np.ndarray: of_array,
    np.generic: of_array,
    list: of_list,
    range: of_list,
    tuple: of_tuple,
    dict: of_dict,
    Packed: of_message,
    Given: lambda value, arrays: {"given": [value.kind, of_list(value.args, arrays)]},
    Opaque: lambda value, arrays: {"opaque": value.value},
    OnDevice: lambda value, arrays: {"device": tree(value.host, arrays)},
}


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
        return Reader(message, text).value(of_json(str(message[:text], "utf-8")))
    except Exception as error:                       # nobody knows what was sent
        raise CodecError(f"bytes that are no answer: {type(error).__name__}") from error


class Reader:
    """message: without its head; place: where in it the next array begins"""

    def __init__(self, message, place):
        self.message, self.place = message, place

    def value(self, node):
        kind = type(node)
        if kind is list:
            return node if PLAIN.issuperset(map(type, node)) else [self.value(part) for part in node]
        if kind is not dict:
            return node
        ((name, inside),) = node.items()
        return getattr(self, name)(inside) if name in KINDS else self.array(number_type(name), inside)

    def array(self, dtype, shape):
        if min(shape, default=0) < 0:
            raise CodecError("an array with fewer than no entries")
        start = self.moved_by(math.prod(shape) * dtype.itemsize)
        return np.ndarray(shape, dtype, self.message, start).copy()

    def moved_by(self, count):
        """Where so many bytes begin."""
        start, self.place = self.place, self.place + count
        if not start <= self.place <= len(self.message):
            raise CodecError("an array that is not there")
        return start

    def tuple(self, parts):
        return tuple(self.value(parts))

    def dict(self, pairs):
        pairs = [(self.value(key), self.value(part)) for key, part in pairs]
        return {tuple(key) if isinstance(key, list) else key: part for key, part in pairs}

    def packed(self, count):
        start = self.moved_by(count)
        return Packed(self.message[start : self.place])

    def given(self, parts):
        kind, args = parts
        return Given(kind, tuple(self.value(args)))

    def opaque(self, value):
        return Opaque(value)

    def device(self, host):
        return OnDevice(self.value(host))

    def strange(self, text):
        return Strange(str(text))


KINDS = {"tuple", "dict", "packed", "given", "opaque", "device", "strange"}


@functools.lru_cache(64)
def number_type(name):
    dtype = np.dtype(name)
    if dtype.kind not in "fiubc":
        raise CodecError("an array of what is no number")
    return dtype
