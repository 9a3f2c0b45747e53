"""What an optimiser's step needs to know of other ranks' shares: norms, one or two numbers for each tensor.

AdamW treats every weight alone. LAMB's trust ratio is of a tensor's whole norm, and clipping of the whole gradient's.
"""

import math
from dataclasses import dataclass
from typing import Any

from ..optim import AdamW, Lamb
from .weights import axis_of


@dataclass(frozen=True)
class SplitLamb(Lamb):
    ranks: Any = None                                # those that share the model

    def _whole_squares(self, name, squares):
        if axis_of(name) is None:
            return squares
        return [sum(column) for column in zip(*self.ranks.gather(squares), strict=True)]


def optimiser_over(ranks, optimiser):
    """An optimiser for this rank's share."""
    return optimiser if isinstance(optimiser, AdamW) else SplitLamb(**vars(optimiser), ranks=ranks)


def norm_over(ranks, squares):
    """√(Σ g²) over the tensors of the whole model. squares: {name: Σ g²} of this rank's share"""
    split = sum(value for name, value in squares.items() if axis_of(name) is not None)
    every = sum(value for name, value in squares.items() if axis_of(name) is None)
    return math.sqrt(sum(ranks.gather(split)) + every)
