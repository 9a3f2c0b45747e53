"""A part of a batch as the kernels read it: what is reckoned once, before the first of them."""

from typing import Any, NamedTuple

from ..backend import array_module, device_of
from ..layers import key_mask


class Prepared(NamedTuple):
    input_ids: Any                                   # (B, T)
    token_type_ids: Any                              # (B, T)
    mask: Any                                        # (B, T) added to scores
    first_rows: Any = None                           # (B,)   the row of each example's first token, of R = B·T
    orders: Any = None                               # (B,)   labels of the sentences' order
    order_shares: Any = None                         # (B,)   what each weighs in the loss
    rows: Any = None                                 # (K,)   of the masked tokens
    labels: Any = None                               # (K,)   and the words that stood there
    shares: Any = None                               # (K,)   weight over the sum of weights

    @classmethod
    def of(cls, inputs, params, totals=None):
        """inputs: a Batch, or with totals None what the encoder alone needs."""
        mask = array_module(params.flat).ascontiguousarray(key_mask(inputs.attention_mask, params.dtype)[:, 0, 0])
        read = kernel_ids(inputs.input_ids), kernel_ids(inputs.token_type_ids), mask
        if totals is None:
            return cls(*read)
        B, T = inputs.input_ids.shape
        first_rows = array_module(mask).arange(0, B * T, T)
        sequences = B if totals.sequences is None else totals.sequences
        order_shares = array_module(mask).full(B, 1 / sequences, params.dtype)
        orders = kernel_ids(inputs.sop_labels), order_shares
        words = targets(inputs, first_rows, params.dtype, totals.targets)
        return cls(*read, first_rows, *orders, *words)


def kernel_ids(array):
    """As they are, or int64 on a GPU, whose kernels read nothing else."""
    return array.astype("int64", copy=False) if device_of(array) == "cuda" else array


def targets(batch, first_rows, dtype, total):
    """rows, labels and shares of the masked tokens: on the CPU of those alone whose weight is not 0.

    On a GPU of every slot, for their number must not change from step to step.
    """
    xp, weights = array_module(first_rows), batch.mlm_weights
    total = weights.sum(dtype=xp.float64) if total is None else xp.asarray(total)
    shares = (weights / xp.where(total == 0, 1.0, total)).astype(dtype)
    found = [(batch.mlm_positions + first_rows[:, None]).ravel(), kernel_ids(batch.mlm_labels.ravel()), shares.ravel()]
    if device_of(weights) == "cuda":
        return found
    (used,) = weights.ravel().nonzero()
    return [array[used] for array in found]
