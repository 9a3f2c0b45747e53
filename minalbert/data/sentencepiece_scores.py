"""The scores of a sentencepiece model, rounded, so that two ways to cut a word that are equally good stay equally good.

sentencepiece adds scores in float32, transformers in float64. Of "0 00" and "00 0" each would choose the one that its
own rounding favours; sentencepiece's even depends on what stands before. Sums of multiples of 1/256 are exact in both,
up to 65,536, and of ways that are equally good both choose the same. For the same reason a user-defined symbol becomes
a normal piece: sentencepiece would compute a score for it that is no multiple of 1/256. It is still never joined with
its neighbours, because no other piece contains it.

A model is a message of protobuf: fields, each with a number, a kind and a value, one after the other. Only values of
fixed width are changed, in place.
"""

import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5         # kinds
PIECES = 1                                           # fields of a model
SCORE, TYPE = 2, 3                                   # and of a piece
NORMAL, USER_DEFINED = 1, 4                          # types
STEP = 1 / 256


def with_round_scores(model):
    content = bytearray(model)
    for number, kind, start, end in fields(content, 0, len(content)):
        if (number, kind) == (PIECES, BYTES):
            round_score(content, start, end)
    return bytes(content)


def round_score(content, start, end):
    for number, kind, at, after in fields(content, start, end):
        if (number, kind) == (SCORE, FIXED32):
            (score,) = struct.unpack_from("<f", content, at)
            struct.pack_into("<f", content, at, round(score / STEP) * STEP)
        elif (number, kind) == (TYPE, VARINT) and content[at:after] == bytes([USER_DEFINED]):
            content[at] = NORMAL


def fields(content, at, end):
    """(number, kind, where the value begins, where it ends)"""
    while at < end:
        tag, at = varint(content, at)
        kind = tag & 7
        size, start = varint(content, at)
        if kind == BYTES:
            after = start + size
        else:
            start, after = at, {VARINT: start, FIXED64: at + 8, FIXED32: at + 4}[kind]
        yield tag >> 3, kind, start, after
        at = after


def varint(content, at):
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
