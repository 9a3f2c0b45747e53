"""A sentencepiece model with a given vocabulary."""

import numpy as np

from minalbert.data.sentencepiece_tokenizer import SentencePieceTokenizer
from minalbert.data.tokenizer import SPECIALS


def with_pieces(pieces, digit_commas="intended"):
    """A model with just these pieces: trained on anything, then rewritten, in the few bytes of its format we need."""
    named = [*SPECIALS, "▁", *pieces]
    kinds = [3, 2, 3, 3, 3, *[1] * (len(named) - 5)]

    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    vocabulary = b""
    for piece, kind in zip(named, kinds, strict=True):
        score = np.float32(-1 if len(piece) > 1 else -9).tobytes() if kind == 1 else bytes(4)
        vocabulary += field(1, field(1, piece.encode()) + b"\x15" + score + bytes([0x18, kind]))
    trainer = field(
        2, b"\x18\x01" + b"\xc0\x02\x01\xc8\x02" + b"\xff" * 9 + b"\x01\xd0\x02" + b"\xff" * 9 + b"\x01\xd8\x02\x00"
    )
    normaliser = field(3, field(1, b"identity"))
    return SentencePieceTokenizer(vocabulary + trainer + normaliser, digit_commas=digit_commas)
