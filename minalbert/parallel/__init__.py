"""The gradient of a batch, computed in slices.

    slices      which examples are a slice's; how a batch is cut over threads
    threads     how many threads BLAS uses meanwhile
    tree        the sum of the slices' gradients, in one fixed order
    workers     who computes: `Workers.gradient`, the one way to a batch's gradient
"""

from .slices import split
from .threads import blas_threads, threads
from .tree import TreeSum
from .workers import Gradient, Workers, add_losses, placed, totals_of
