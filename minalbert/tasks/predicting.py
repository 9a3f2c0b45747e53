"""A model over many sequences: the longest first, and together only those that are equally long, without padding."""

from itertools import groupby

from ..batch import Batch
from ..parallel import ALONE, blas_threads
from .objectives import positions_read

TOKENS = 2**12                                       # of the sequences that are together


def scores_of_sequences(model, sequences, reads, read_off, ranks=ALONE):
    """Return the results of `read_off(x, numbers)` for all sequences, in their order.

    reads     "pooled" or "hidden": which of the model's outputs x is
    numbers   of the sequences that x is of
    ranks     who share the work, in turn; all find the same
    """
    found, groups = {}, [*together([len(each.input_ids) for each in sequences])]
    for numbers in groups[ranks.rank :: ranks.size]:
        inputs = Batch.pad([sequences[i].input_ids for i in numbers], [sequences[i].token_type_ids for i in numbers])
        hidden, pooled = model.encode(*inputs, positions=positions_read(reads, len(numbers)))
        with blas_threads(1):
            results = read_off(pooled if reads == "pooled" else hidden, numbers)
        found.update(zip(numbers, results, strict=True))
    everyones = {number: result for one in ranks.gather(found) for number, result in one.items()}
    return [everyones[number] for number in range(len(sequences))]


def together(lengths):
    """Lists of the numbers of sequences of one length, the longest first."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    for length, group in groupby(order, key=lengths.__getitem__):
        equal, size = [*group], max(1, TOKENS // length)
        for first in range(0, len(equal), size):
            yield equal[first : first + size]
