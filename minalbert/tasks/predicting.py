"""A model over many sequences: the longest first, and together only those that are equally long, without padding."""

from itertools import groupby

from ..batch import Batch
from ..parallel import blas_threads
from .objectives import positions_read

TOKENS = 2**12                                       # of the sequences that are together


def scores_of_sequences(model, sequences, reads, read_off):
    """Return the results of `read_off(x, numbers)` for all sequences, in their order.

    reads     "pooled" or "hidden": which of the model's outputs x is
    numbers   of the sequences that x is of
    """
    found = [None] * len(sequences)
    for numbers in together([len(each.input_ids) for each in sequences]):
        inputs = Batch.pad([sequences[i].input_ids for i in numbers], [sequences[i].token_type_ids for i in numbers])
        hidden, pooled = model.encode(*inputs, positions=positions_read(reads, len(numbers)))
        with blas_threads(1):
            results = read_off(pooled if reads == "pooled" else hidden, numbers)
        for i, result in zip(numbers, results, strict=True):
            found[i] = result
    return found


def together(lengths):
    """Lists of the numbers of sequences of one length, the longest first."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for length, group in groupby(order, key=lengths.__getitem__):
        equal, size = [*group], max(1, TOKENS // length)
        for first in range(0, len(equal), size):
            yield equal[first : first + size]
