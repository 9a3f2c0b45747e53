"""Values as bytes and back: numbers, text, bytes, arrays, tuples, lists, dicts, and nothing that could run.

    4 bytes: length of the MessagePack    8 bytes: length of the arrays    MessagePack    arrays, one after the other

Pickle would run what a submission put into it. What MessagePack does not have is a list there, whose first item is a
Mark that says what of. Whatever has no place in the format comes out as `Strange`.
"""

import functools
import math
import struct
from typing import NamedTuple

import msgpack
import numpy as np
from msgpack import ExtType

from ..given import Given
from ..values import OnDevice, Opaque

HEAD = struct.Struct("<IQ")
MOST, MOST_TEXT = 64 * 2**20, 4 * 2**20              # bytes of an answer; of it what is not arrays
LARGE = 4 * 2**20                                    # bytes of several calls; more are left to the next message
LONGEST = 1500                                       # letters for the dtype and the shape of an array
LOOSE = "utf-8", "surrogatepass"                     # a submission's text may be no Unicode
NUMBERS = "fiubc"                                    # kinds of dtypes
ITEMS = {"max_array_len": 2**20, "max_map_len": 2**13}  # of one list, of one dict
KEYS = {str, int, float, bool, type(None)}           # the hash of a tuple takes long, and is easily that of another
COLLIDING = 100                                      # keys of a dict with the hash of another one
ARRAY, PACKED, BIG, STRANGE, TUPLE, GIVEN, OPAQUE, DEVICE = range(8)


class Mark(NamedTuple):
    """The first item of a list that stands for what has parts: a tuple, say."""

    of: int


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
    """A message; of a Packed alone one without MessagePack, for somebody who passes it on unread."""
    if isinstance(value, Packed):
        return HEAD.pack(0, len(value)) + value
    encoder = Encoder()
    packer = msgpack.Packer(default=encoder.default, strict_types=True, unicode_errors=LOOSE[1])
    text = packer.pack(value)
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


def check_text(parts):
    """Raise an error where parts of a message have together more MessagePack than one may have: it makes objects."""
    texts = [sizes(part[: HEAD.size])[0] for part in parts if isinstance(part, Packed) and len(part) >= HEAD.size]
    if len(texts) > 1 and sum(texts) > MOST_TEXT:
        raise CodecError("many answers of very many objects")


def loads(message, text):
    """The value of a message without its head; text: bytes of it that are MessagePack"""
    if not text:
        return Packed(message)
    decoder = Decoder(message, text)
    hooks = {"list_hook": decoder.list, "object_pairs_hook": decoder.dict, "ext_hook": decoder.value}
    how = {"strict_map_key": False, "timestamp": 1, "unicode_errors": LOOSE[1], **ITEMS}
    try:
        return msgpack.unpackb(message[:text], **hooks, **how)
    except Exception as error:                       # nobody knows what was sent
        raise CodecError(f"bytes that are no answer: {type(error).__name__}") from error


def unpacked(message):
    if not isinstance(message, Packed) or len(message) < HEAD.size:
        raise CodecError("a part of an answer that is none")
    text, _ = sizes(message[: HEAD.size])
    return loads(message[HEAD.size :], text)


class Encoder:
    """default(value): what stands for a value of a kind that MessagePack does not have"""

    def __init__(self):
        self.arrays = []                             # the bytes of each

    def default(self, value):
        kind = type(value)
        if kind in KINDS:
            return KINDS[kind](self, value)
        if isinstance(value, np.generic) and value.dtype.kind in "fiubU":
            return value.item()
        known = next((base for base in (np.ndarray, np.generic, tuple, list, dict) if isinstance(value, base)), None)
        return KINDS[known](self, value) if known else strange(f"a {kind.__name__}")

    def array(self, value):
        array = np.asarray(value)
        if array.dtype.kind not in NUMBERS or array.dtype.itemsize > 16:
            return strange(f"an array of {array.dtype}")
        self.arrays.append(array.tobytes())
        return written(array.dtype, array.shape)

    def packed(self, value):
        self.arrays.append(value)
        return ExtType(PACKED, b"%d" % len(value))

    def list(self, value):
        return list(value)

    def dict(self, value):
        return dict(value)

    def big(self, value):
        return ExtType(BIG, b"%d" % value)

    def tuple(self, value):
        return [FIRST[TUPLE], *value]

    def given(self, value):
        return [FIRST[GIVEN], value.kind, *value.args]

    def opaque(self, value):
        return [FIRST[OPAQUE], value.value]

    def device(self, value):
        return [FIRST[DEVICE], value.host]


KINDS = {
    np.ndarray: Encoder.array, np.generic: Encoder.array, Packed: Encoder.packed, list: Encoder.list,
    range: Encoder.list, dict: Encoder.dict, int: Encoder.big, tuple: Encoder.tuple, Given: Encoder.given,
    Opaque: Encoder.opaque, OnDevice: Encoder.device,
}  # fmt: skip


class Decoder:
    """message: without its head; place: where in it the next array begins"""

    def __init__(self, message, place):
        self.message, self.place = message, place

    def list(self, items):
        """A list, or what it stands for."""
        return PARTS[items[0].of](items[1:]) if items and type(items[0]) is Mark else items

    def dict(self, pairs):
        """A dict, if it is made quickly: where keys have one hash, each takes as long as all before it."""
        pairs = list(pairs)
        if any(type(key) not in KEYS for key, _ in pairs):
            return Strange("a dict with a key that is no number and no text")
        if len(pairs) - len({hash(key) for key, _ in pairs}) > COLLIDING:
            raise CodecError("a dict of many keys with one hash")
        return dict(pairs)

    def value(self, code, data):
        if code == ARRAY:
            dtype, shape, size = layout(data)
            return np.ndarray(shape, dtype, self.message, self.moved_by(size)).copy()
        if code == PACKED:
            start = self.moved_by(int(data))
            return Packed(self.message[start : self.place])
        return SINGLE[code](data) if code in SINGLE else MARKS[code]

    def moved_by(self, count):
        """Where so many bytes begin."""
        start, self.place = self.place, self.place + count
        if not start <= self.place <= len(self.message):
            raise CodecError("an array that is not there")
        return start


SINGLE = {BIG: int, STRANGE: lambda data: Strange(str(data, *LOOSE))}
PARTS = {
    TUPLE: tuple, GIVEN: lambda parts: Given(parts[0], tuple(parts[1:])), OPAQUE: lambda parts: Opaque(*parts),
    DEVICE: lambda parts: OnDevice(*parts),
}  # fmt: skip
FIRST = {code: ExtType(code, b"") for code in PARTS}
MARKS = {code: Mark(code) for code in PARTS}


def strange(says):
    return ExtType(STRANGE, says.encode(*LOOSE))


@functools.lru_cache(1024)
def written(dtype, shape):
    return ExtType(ARRAY, " ".join(map(str, (dtype.str, *shape))).encode())


@functools.lru_cache(1024)
def layout(data):
    """(dtype, shape, bytes) of an array"""
    if len(data) > LONGEST:                          # or it takes long to read
        raise CodecError("a shape of too many letters")
    name, *sizes = str(data, "ascii").split()
    dtype, shape = np.dtype(name), tuple(map(int, sizes))
    if dtype.kind not in NUMBERS:
        raise CodecError("an array of what is no number")
    return dtype, shape, math.prod(shape) * dtype.itemsize
