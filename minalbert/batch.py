"""What a model trains on: records of arrays of whole numbers, checked once, when a model gets them."""

from typing import NamedTuple

import numpy as np

from .arguments import of_kind, refusal, whole
from .backend import array_module, to_device
from .capacity import check_memory
from .config import AlbertConfig
from .errors import InputError


class Inputs(NamedTuple):
    """What the encoder reads.

    input_ids        (B, T)   tokens
    attention_mask   (B, T)   1 for a token, 0 for padding; a sequence that is all padding is read as if none of it were
    token_type_ids   (B, T)   0 in the first segment, 1 in the second
    """

    input_ids: np.ndarray
    attention_mask: np.ndarray
    token_type_ids: np.ndarray

    def to(self, device):
        return Inputs(*(to_device(array, device) for array in self))


class Batch(NamedTuple):
    """What pretraining reads.

    input_ids        (B, T)   tokens, some of them masked
    attention_mask   (B, T)   1 for a token, 0 for padding
    token_type_ids   (B, T)   0 in the first segment, 1 in the second
    mlm_positions    (B, P)   places of the masked tokens; unused slots hold 0
    mlm_labels       (B, P)   the tokens to predict there
    mlm_weights      (B, P)   1 for a prediction, 0 for an unused slot; any weight that is not negative
    sop_labels       (B,)     0 in order, 1 swapped
    """

    input_ids: np.ndarray
    attention_mask: np.ndarray
    token_type_ids: np.ndarray
    mlm_positions: np.ndarray
    mlm_labels: np.ndarray
    mlm_weights: np.ndarray
    sop_labels: np.ndarray

    def to(self, device):
        return Batch(*(to_device(array, device) for array in self))

    def as_whole_numbers(self):
        """Convert truth values and unsigned numbers to signed ones, which arithmetic and indexing treat alike."""
        weights = self.mlm_weights
        return Batch(*map(as_whole_numbers, self))._replace(mlm_weights=weights)

    def check(self, config):
        """Raise InputError, in one sentence, for anything the model would misread."""
        of_kind("config", config, AlbertConfig)
        check_inputs(config, self.input_ids, self.attention_mask, self.token_type_ids)
        B, T = self.input_ids.shape
        P = self.mlm_positions.shape[-1]
        for name in ("mlm_positions", "mlm_labels", "mlm_weights"):
            check_shape(name, getattr(self, name), (B, P))
        check_shape("sop_labels", self.sop_labels, (B,))
        check_range("mlm_positions", self.mlm_positions, T, "the sequences' length")
        check_range("mlm_labels", self.mlm_labels, config.vocab_size, "the vocabulary's size")
        check_range("sop_labels", self.sop_labels, 2, "the number of orders")
        if not (self.mlm_weights >= 0).all() or not (self.mlm_weights < np.inf).all():
            raise InputError("mlm_weights has an entry that is negative, infinite or not a number")

    @staticmethod
    def pad(sequences, token_type_ids=None):
        """Lists of ids, of any lengths -> `Inputs` padded to the longest; token types are 0 if none are given."""
        sequences = lists_of_ids("sequences", sequences)
        if not sequences or any(ids.ndim != 1 or not ids.size for ids in sequences):
            raise InputError("sequences must be a list of lists of ids, at least one id in each")
        if any(ids.dtype.kind not in "iu" or (ids < 0).any() for ids in sequences):
            raise InputError("sequences must hold ids, which are whole numbers from 0 up: a tokenizer makes them of "
                             "text")  # fmt: skip
        types = [np.zeros_like(ids) for ids in sequences]
        types = types if token_type_ids is None else lists_of_ids("token_type_ids", token_type_ids)
        if [kinds.shape for kinds in types] != [ids.shape for ids in sequences]:
            raise InputError("token_type_ids must have a type for each id: the same lists of lengths as sequences")
        shape = len(sequences), max(map(len, sequences))
        input_ids, mask, token_types = (np.zeros(shape, np.int64) for _ in range(3))
        for row, (ids, kinds) in enumerate(zip(sequences, types, strict=True)):
            input_ids[row, : len(ids)], mask[row, : len(ids)], token_types[row, : len(ids)] = ids, 1, kinds
        return Inputs(input_ids, mask, token_types)

    @classmethod
    def random(cls, config, size, length, predictions, seed=0):
        """A random batch with padding, both segments and unused slots, for checks and timing."""
        of_kind("config", config, AlbertConfig)
        size, length = whole("size", size, 1), whole("length", length, 1)
        predictions = whole("predictions", predictions, 1, length)
        check_memory(f"{size:,} sequences of {length:,} tokens", 48 * size * length, InputError)
        rng = np.random.default_rng(whole("seed", seed))
        lengths = rng.integers(max(1, length // 2), length + 1, (size, 1))
        lengths[0] = length
        place = np.arange(length)
        mask = place < lengths
        second = mask & (place >= rng.integers(1, lengths + 1))
        used = np.arange(predictions) < rng.integers(1, np.minimum(predictions, lengths) + 1)
        shuffled = np.where(mask, rng.random((size, length)), 2.0).argsort(axis=1)     # tokens first, in any order
        return cls(
            input_ids=rng.integers(0, config.vocab_size, (size, length)) * mask,
            attention_mask=mask.astype(np.int64),
            token_type_ids=second.astype(np.int64),
            mlm_positions=shuffled[:, :predictions] * used,
            mlm_labels=rng.integers(0, config.vocab_size, (size, predictions)) * used,
            mlm_weights=used.astype(np.float32),
            sop_labels=rng.integers(0, 2, size),
        )


def lists_of_ids(name, sequences):
    """An array for each list."""
    try:
        return [np.asarray(ids) for ids in sequences]
    except (TypeError, ValueError):                  # no list, or lists of lists of several lengths
        raise refusal(name, sequences, "a list of lists of ids") from None


def as_whole_numbers(array):
    return array.astype(np.int64) if array.dtype.kind in "ub" else array


def check_inputs(config, input_ids, attention_mask, token_type_ids):
    if input_ids.ndim != 2 or not input_ids.size:
        raise InputError(f"input_ids has shape {input_ids.shape}; it must be (sequences, tokens), at least one of each")
    if input_ids.shape[1] > config.max_position_embeddings:
        raise InputError(
            f"input_ids has {input_ids.shape[1]} tokens a sequence; the model has positions for "
            f"{config.max_position_embeddings}"
        )
    check_shape("attention_mask", attention_mask, input_ids.shape)
    check_shape("token_type_ids", token_type_ids, input_ids.shape)
    check_range("input_ids", input_ids, config.vocab_size, "the vocabulary's size")
    check_range("attention_mask", attention_mask, 2, "1 for a token, 0 for padding")
    check_range("token_type_ids", token_type_ids, config.type_vocab_size, "the number of segment types")


def check_shape(name, array, shape):
    if array.shape != tuple(shape):
        raise InputError(f"{name} has shape {array.shape}; it must be {tuple(shape)}")


def check_range(name, array, end, what):
    if array.dtype.kind not in "i":
        raise InputError(f"{name} has dtype {array.dtype}; it must hold whole numbers")
    outside = (array < 0) | (array >= end)
    if outside.any():
        where = tuple(int(i[0]) for i in array_module(array).nonzero(outside))
        raise InputError(f"{name}{list(where)} is {int(array[where])}; it must lie in 0..{end - 1} ({what})")
