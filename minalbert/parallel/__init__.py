"""The gradient of a batch, computed in slices.

    slices      a batch cut into slices, and these into parts that are trimmed to their longest example
    threads     BLAS has one thread meanwhile
    allocator   arrays' memory stays with the process
    tree        the sum of the slices' gradients, in one fixed order
    workers     who computes: `Workers.gradient`, the one way to a batch's gradient
    ranks       several processes, each with a share of the batch
    rank_sum, rank_gradient     the sum over them in the tree's order, and the gradient of a batch that they share
    tensor_shares               which rank steps which tensors
    nccl_sum    the same sum of vectors that lie on GPUs
    heartbeat, supervisor       what each rank says of itself, and who notices that one hangs
    slurm       the batch script that starts them on a cluster
"""

from .allocator import give_back_freed_memory
from .rank_gradient import gradient_over, sum_gradients
from .ranks import ALONE, Ranks, world
from .slices import Trimmed, cut, cut_each, lengths_of
from .tensor_shares import UNSHARED, SharedStep, TensorShares
from .threads import blas_threads
from .tree import TreeSum
from .workers import Gradient, SliceWorker, Workers, add_losses, gradients_at_a_time, totals_of
