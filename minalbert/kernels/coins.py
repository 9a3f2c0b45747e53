"""Which dropout coins an array gets: the rate, and the place in the stream of random numbers."""

from typing import NamedTuple

from ..backend import DropoutKey, dropout_mask


class Coins(NamedTuple):
    """Rows of a kernel are tokens; `length` of them make an example, and coins are counted by example."""

    rate: float
    stream: DropoutKey
    length: int

    def keep(self, x, first):
        """For x: (examples, ...), of which the first is number `first` of the part: which are kept, and 1 / P(keep)."""
        return dropout_mask(x, self.rate, self.stream.at(example=self.stream.example + first))

    def factors(self, x, first):
        """0, or 1 / P(keep)."""
        keep, scale = self.keep(x, first)
        return keep * x.dtype.type(scale)
