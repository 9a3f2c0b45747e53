r"""The sum over ranks, in the order of the tree.

    level 2              s01234567                across ranks: here
                       /           \
    level 1        s0123           s4567          within a rank: tree.py
                  /     \         /     \
    level 0     s01     s23     s45     s67       G = 8 slices, on 2 ranks

Each rank has added its own G / R slices, which are neighbours: its sum is a node of the tree that one process builds
over all G. MPI's own Allreduce adds in an order of its own, which changes with the number of ranks. So nothing but
MPI's copying is used here, and every addition is ours:

    Alltoall     rank i receives the i-th share of every other rank's vector
    the tree     adds the R shares, in the place of the rank's own
    Allgather    every rank receives all other sums

A rank sends (R - 1) / R of the vector twice, as in a ring. The vector goes piece by piece, so that no second vector is
needed. Some pieces are on their way while another is added: a link that waits for additions, or for the slowest rank's
next call, is a link that stands still.
"""

from collections import deque

import numpy as np

from .tree import TreeSum

PIECE = 2**18                                        # numbers
AHEAD = 2                                            # pieces on their way, in each direction


def add_over_ranks(vectors, comm, rooms):
    """Replace each vector, on the host, by its sum over all ranks, the same bits on each.

    rooms: a list of arrays to receive in, empty at first; who keeps it spares the next sum the time for fresh memory
    """
    shared, added = deque(), deque()
    for piece in pieces(vectors):
        room = rooms.pop() if rooms else np.empty(PIECE + comm.size)
        shared.append(Piece(piece, comm, room))
        if len(shared) > AHEAD:
            added.append(shared.popleft().add())
        if len(added) > AHEAD:
            rooms.append(added.popleft().end())
    added.extend(piece.add() for piece in shared)
    rooms.extend(piece.end() for piece in added)


def pieces(vectors):
    for vector in vectors:
        for first in range(0, len(vector), PIECE):
            yield vector[first : first + PIECE]


class Piece:
    """A piece of a vector, whose shares are on their way to the ranks that add them."""

    def __init__(self, piece, comm, room):
        counts = shares(len(piece), comm.size)
        starts, mine = [sum(counts[:rank]) for rank in range(comm.size)], counts[comm.rank]
        self.comm, self.room, self.whole = comm, room, [piece, (counts, starts)]
        self.own = piece[starts[comm.rank] :][:mine]
        self.received = room.view(piece.dtype)[: (comm.size - 1) * mine].reshape(comm.size - 1, mine)
        sent, expected = [*counts], [mine] * comm.size
        sent[comm.rank] = expected[comm.rank] = 0    # a rank's own share stays where it is
        self.request = comm.Ialltoallv([piece, (sent, starts)], [self.received, expected])

    def add(self):
        """Add the shares in the place of this rank's own, and send their sum to all."""
        self.request.Wait()
        tree = TreeSum(lambda left, right: np.add(left, right, out=right if right is self.own else left))
        for share in (*self.received[: self.comm.rank], self.own, *self.received[self.comm.rank :]):
            tree.push(share)
        tree.total()                                 # which is where this rank's share was
        self.request = self.comm.Iallgatherv(None, self.whole)
        return self

    def end(self):
        """Wait for all sums. Returns the room."""
        self.request.Wait()
        return self.room


def shares(length, ranks):
    """The numbers of a piece that each rank adds: no two ranks differ by more than one."""
    return [length * (rank + 1) // ranks - length * rank // ranks for rank in range(ranks)]


def bytes_sent(length, itemsize, ranks):
    """By all ranks together, for one sum: 2 (R - 1) / R of a vector by each."""
    return 2 * (ranks - 1) * length * itemsize
