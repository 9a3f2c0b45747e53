r"""The sum over ranks, in the order of the tree.

    level 2              s01234567                across ranks: here
                       /           \
    level 1        s0123           s4567          within a rank: tree.py
                  /     \         /     \
    level 0     s01     s23     s45     s67       G = 8 slices, on 2 ranks

Each rank has added its own G / R slices, which are neighbours: its sum is a node of the tree that one process builds
over all G. MPI's own Allreduce adds in an order of its own, which changes with the number of ranks. So nothing but
MPI's copying is used here, and every addition is ours:

    Alltoall     rank i receives the i-th share of every rank's vector
    the tree     adds the R shares
    Allgather    every rank receives all the sums

A rank sends (R - 1) / R of the vector twice, as in a ring. The vector goes piece by piece, so that a piece's shares
are still in the cache when they are added, and no second vector is needed.
"""

import numpy as np

from .tree import TreeSum

PIECE = 2**18                                        # numbers


def add_over_ranks(vector, comm):
    """Replace a vector on the host by its sum over all ranks, the same bits on each."""
    for first in range(0, len(vector), PIECE):
        add_piece(vector[first : first + PIECE], comm)


def add_piece(piece, comm):
    counts = shares(len(piece), comm.size)
    starts = [sum(counts[:rank]) for rank in range(comm.size)]
    mine = counts[comm.rank]
    received = np.empty((comm.size, mine), piece.dtype)
    comm.Alltoallv([piece, (counts, starts)], [received, [mine] * comm.size])
    tree = TreeSum(lambda left, right: np.add(left, right, out=left))
    for share in received:
        tree.push(share)
    comm.Allgatherv(tree.total(), [piece, (counts, starts)])


def shares(length, ranks):
    """The numbers of a piece that each rank adds: no two ranks differ by more than one."""
    return [length * (rank + 1) // ranks - length * rank // ranks for rank in range(ranks)]


def bytes_sent(length, itemsize, ranks):
    """By all ranks together, for one sum: 2 (R - 1) / R of a vector by each."""
    return 2 * (ranks - 1) * length * itemsize
