"""Dropout as a kernel takes it: the rate, the key of the mask, and how rows make examples."""

from typing import NamedTuple

from ..backend import DropoutKey, dropout_mask


class Dropout(NamedTuple):
    """Rows of a kernel are tokens; `length` of them make an example, and a mask is counted by example."""

    rate: float
    key: DropoutKey
    length: int

    def mask(self, x, first):
        """For x: (examples, ...), the first of them number `first` of the slice: which are kept, and 1 / P(keep)."""
        return dropout_mask(x, self.rate, self.key, first)

    def factors(self, x, first):
        """0, or 1 / P(keep)."""
        mask, scale = self.mask(x, first)
        return mask * x.dtype.type(scale)
