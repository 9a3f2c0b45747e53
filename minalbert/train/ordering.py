"""Which of two texts came first? What a trained model answers.

    swapped(model, tokenizer, "ada baked a cake .", "ada ate the cake .")      # 0.03: they are in order
"""

from ..albert import Albert
from ..arguments import of_kind, text
from ..backend import to_host
from ..data.tokenizer import Tokenizer, check_belongs
from ..layers import softmax
from .filling import check_length, encoded


def swapped(model, tokenizer, first, second):
    """The probability that `second` came before `first`."""
    of_kind("model", model, Albert)
    of_kind("tokenizer", tokenizer, Tokenizer)
    check_belongs(tokenizer, model.tokenizer_digest)
    ids, segments, _ = encoded(tokenizer, [text("first", first), text("second", second)])
    check_length(model, ids)
    _, pooled = model.encode([ids], None, [segments])
    return float(to_host(softmax(model.sop_logits(pooled)))[0, 1])
