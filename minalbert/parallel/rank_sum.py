r"""The sum over ranks, in the order of the tree.

    level 2              s01234567                across ranks: here
                       /           \
    level 1        s0123           s4567          within a rank: tree.py
                  /     \         /     \
    level 0     s01     s23     s45     s67       G = 8 slices, on 2 ranks

Each rank has added its own G / R slices, which are neighbours: its sum is a node of the tree that one process builds
over all G. MPI's own Allreduce adds in an order of its own, which changes with the number of ranks. So nothing but
MPI's copying is used here, and every addition is ours:

    Alltoall     rank i receives its own place of every other rank's vector
    the tree     adds the R numbers for each, in the place of the rank's own
    Allgather    every rank receives all other sums

A rank sends (R - 1) / R of the vector twice, as in a ring. Of a gradient each rank keeps its own sums, and what all
receive is the new weights (tensor_shares.py). The vector goes piece by piece, so that no second vector is needed. Some
pieces are on their way while another is added: a link that waits for additions, or for the slowest rank's next call,
is a link that stands still.
"""

from collections import deque
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .tree import TreeSum

PIECE = 2**18                                        # numbers
AHEAD = 2                                            # pieces on their way, in each direction


class Summed(NamedTuple):
    """A vector, on the host, that is added over ranks: each rank adds one place of it."""

    vector: Any
    places: list                                     # (start, stop) of each rank's
    own: Any                                         # this rank's place, or a copy of it: becomes the sum
    everywhere: bool                                 # do all ranks receive all sums?


def summed_everywhere(vector, comm):
    places = even_places(len(vector), comm.size)
    return Summed(vector, places, vector[slice(*places[comm.rank])], True)


def add_over_ranks(vectors, comm, rooms):
    """Add `Summed` vectors, the same bits on each rank.

    rooms: a list of arrays to receive in, empty at first; who keeps it spares the next sum the time for fresh memory
    """
    shared, added = deque(), deque()
    for vector in vectors:
        for first in range(0, max(stop - start for start, stop in vector.places), longest(comm.size)):
            room = rooms.pop() if rooms else np.empty(PIECE + comm.size)
            shared.append(Piece(vector, first, comm, room))
            if len(shared) > AHEAD:
                added.append(shared.popleft().add())
            if len(added) > AHEAD:
                rooms.append(added.popleft().end())
    added.extend(piece.add() for piece in shared)
    rooms.extend(piece.end() for piece in added)


class Piece:
    """Some numbers of each rank's place, on their way to the rank that adds them."""

    def __init__(self, vector, first, comm, room):
        places = [[min(stop, start + n) for n in (first, first + longest(comm.size))] for start, stop in vector.places]
        starts, counts = [start for start, _ in places], [stop - start for start, stop in places]
        mine = counts[comm.rank]
        self.comm, self.room, self.everywhere = comm, room, vector.everywhere
        self.own, self.whole = vector.own[first:][:mine], [vector.vector, (counts, starts)]
        self.received = room.view(self.own.dtype)[: (comm.size - 1) * mine].reshape(comm.size - 1, mine)
        sent, expected = [*counts], [mine] * comm.size
        sent[comm.rank] = expected[comm.rank] = 0    # a rank's own numbers stay where they are
        self.request = comm.Ialltoallv([vector.vector, (sent, starts)], [self.received, expected])

    def add(self):
        """Add the other ranks' numbers to this rank's own; send their sum to all, if it is wanted everywhere."""
        self.request.Wait()
        tree = TreeSum(lambda left, right: np.add(left, right, out=right if right is self.own else left))
        for numbers in (*self.received[: self.comm.rank], self.own, *self.received[self.comm.rank :]):
            tree.push(numbers)
        tree.total()                                 # which is where this rank's numbers were
        if self.everywhere:
            self.request = self.comm.Iallgatherv(None, self.whole)
        return self

    def end(self):
        """Wait for all sums. Returns the room."""
        if self.everywhere:
            self.request.Wait()
        return self.room


def longest(ranks):
    """The most numbers of a rank in a piece."""
    return max(1, PIECE // ranks)


def collect(vector, places, comm):
    """Replace all other ranks' places of a vector, on the host, by theirs."""
    counts, starts = [stop - start for start, stop in places], [start for start, _ in places]
    comm.Iallgatherv(None, [vector, (counts, starts)]).Wait()


def even_places(length, ranks):
    """[(start, stop)] of each rank's place in a vector: no two ranks' differ by more than one number."""
    return [*pairwise(length * rank // ranks for rank in range(ranks + 1))]


def bytes_sent(length, itemsize, ranks):
    """By all ranks together, for one sum: 2 (R - 1) / R of a vector by each."""
    return 2 * (ranks - 1) * length * itemsize
