"""A batch cut into slices, one for each thread."""

from itertools import pairwise

WORTH_A_THREAD = 2**18                               # numbers in a layer's input of one slice: with fewer, BLAS's own
                                                     # threads bring more


def split(batch, count, hidden_size):
    """`count` slices of nearly the same number of examples, or as many as are worth a thread each."""
    examples = len(batch.input_ids)
    count = max(1, min(count, examples, batch.input_ids.size * hidden_size // WORTH_A_THREAD))
    cuts = [examples * i // count for i in range(count + 1)]
    return [type(batch)(*(array[first:end] for array in batch)) for first, end in pairwise(cuts)]
