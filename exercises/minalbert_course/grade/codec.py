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
LARGE = 4 * 2**20                                    # bytes of several calls; more are left to the next message
WHOLE, PLAIN = {int}, {bool, int, float, str, type(None)}
as_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
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
    """A message; of a Packed alone one without JSON, for somebody who passes it on unread."""
    if isinstance(value, Packed):
        return HEAD.pack(0, len(value)) + value
    encoder = Encoder()
    text = as_json(encoder.tree(value)).encode()
    body = b"".join(encoder.arrays)
    return HEAD.pack(len(text), len(body)) + text + body


def packed(value):
    return Packed(dumps(value))


def sizes(head):
    """(bytes of text, bytes of arrays) after these twelve."""
    text, body = HEAD.unpack(head)
    if text + body > MOST or text > MOST_TEXT:
        allowed = (MOST if text + body > MOST else MOST_TEXT) // 2**20
        raise CodecError(f"an answer of {(text + body) / 2**20:,.0f} MB; {allowed} are allowed")
    return text, body


def loads(message, text):
    """The value of a message without its head; text: bytes of it that are JSON"""
    if not text:
        return Packed(message)
    try:
        return Decoder(message, text).value(of_json(str(message[:text], "utf-8")))
    except Exception as error:                       # nobody knows what was sent
        raise CodecError(f"bytes that are no answer: {type(error).__name__}") from error


def unpacked(message):
    if not isinstance(message, Packed) or len(message) < HEAD.size:
        raise CodecError("a part of an answer that is none")
    text, _ = sizes(message[: HEAD.size])
    return loads(message[HEAD.size :], text)


class Encoder:
    """tree(value): what it is in JSON, itself or {kind: what belongs to it}; an array is {dtype: shape}."""

    def __init__(self):
        self.arrays = []                             # the bytes of each

    def tree(self, value):
        kind = type(value)
        if kind in PLAIN:
            return value
        if kind in ENCODERS:
            return ENCODERS[kind](self, value)
        if isinstance(value, np.generic) and value.dtype.kind in "fiubU":
            return value.item()
        known = next((base for base in (np.ndarray, np.generic, tuple, list, dict) if isinstance(value, base)), None)
        return ENCODERS[known](self, value) if known else {"strange": f"a {kind.__name__}"}

    def array(self, value):
        array = np.asarray(value)
        if array.dtype.kind not in "fiubc" or array.dtype.itemsize > 16:
            return {"strange": f"an array of {array.dtype}"}
        self.arrays.append(array.tobytes())
        return {array.dtype.str: array.shape}

    def list(self, value):
        """JSON has lists, too."""
        value = list(value) if type(value) is range else value
        return value if PLAIN.issuperset(map(type, value)) else list(map(self.tree, value))

    def tuple(self, value):
        return {"tuple": self.list(value)}

    def dict(self, value):
        return {"dict": (self.list(list(value)), self.list(list(value.values())))}

    def packed(self, value):
        self.arrays.append(value)
        return {"packed": len(value)}

    def given(self, value):
        return {"given": (value.kind, self.list(value.args))}

    def opaque(self, value):
        return {"opaque": value.value}

    def device(self, value):
        return {"device": self.tree(value.host)}


ENCODERS = {
    np.ndarray: Encoder.array, np.generic: Encoder.array, list: Encoder.list, range: Encoder.list, tuple: Encoder.tuple,
    dict: Encoder.dict, Packed: Encoder.packed, Given: Encoder.given, Opaque: Encoder.opaque, OnDevice: Encoder.device,
}  # fmt: skip


class Decoder:
    """message: without its head; place: where in it the next array begins"""

    def __init__(self, message, place):
        self.message, self.place = message, place

    def value(self, node):
        kind = type(node)
        if kind is list:
            return self.list(node)
        if kind is not dict:
            return node
        ((name, inside),) = node.items()
        return DECODERS[name](self, inside) if name in DECODERS else self.array(number_type(name), inside)

    def list(self, node):
        return node if PLAIN.issuperset(map(type, node)) else list(map(self.value, node))

    def array(self, dtype, shape):
        if not WHOLE.issuperset(map(type, shape)):   # their product could be as long as a text repeated
            raise CodecError("a shape that is none")
        start = self.moved_by(math.prod(shape) * dtype.itemsize)
        return np.ndarray(shape, dtype, self.message, start).copy()

    def moved_by(self, count):
        """Where so many bytes begin."""
        start, self.place = self.place, self.place + count
        if not start <= self.place <= len(self.message):
            raise CodecError("an array that is not there")
        return start

    def tuple(self, parts):
        return tuple(self.list(parts))

    def dict(self, parts):
        keys, values = map(self.list, parts)
        if list in map(type, keys):
            keys = [tuple(key) if isinstance(key, list) else key for key in keys]
        return dict(zip(keys, values, strict=True))

    def packed(self, count):
        if type(count) is not int:
            raise CodecError("a length that is none")
        start = self.moved_by(count)
        return Packed(self.message[start : self.place])

    def given(self, parts):
        kind, args = parts
        return Given(kind, tuple(self.list(args)))

    def opaque(self, value):
        return Opaque(value)

    def device(self, host):
        return OnDevice(self.value(host))

    def strange(self, text):
        return Strange(str(text))


DECODERS = {name: getattr(Decoder, name) for name in "tuple dict packed given opaque device strange".split()}


@functools.lru_cache(64)
def number_type(name):
    dtype = np.dtype(name)
    if dtype.kind not in "fiubc":
        raise CodecError("an array of what is no number")
    return dtype
