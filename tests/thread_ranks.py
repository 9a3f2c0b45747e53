"""Ranks that are threads: `answers = on_threads(4, work)` calls work(ranks) on each, over a communicator of ours."""

import threading
from concurrent.futures import ThreadPoolExecutor

from minalbert.parallel import Ranks


class Shelf:
    """What all ranks have laid down, once the last one has."""

    def __init__(self, size):
        self.things, self.barrier, self.groups = [None] * size, threading.Barrier(size, timeout=60), []

    def abort(self):
        self.barrier.abort()
        for group in self.groups:
            group.abort()

    def exchange(self, rank, thing):
        self.things[rank] = thing
        self.barrier.wait()
        found = list(self.things)
        self.barrier.wait()  # nobody lays down the next thing before all have taken this one
        return found


class Comm:
    """The calls of mpi4py that Ranks makes."""

    def __init__(self, rank, shelf):
        self.rank, self.size, self.shelf = rank, len(shelf.things), shelf

    def allgather(self, thing):
        return self.shelf.exchange(self.rank, thing)

    def bcast(self, thing):
        return self.allgather(thing)[0]

    def Bcast(self, vector):
        vector[...] = self.allgather(vector.copy())[0]

    def Split(self, color, key):
        colors = self.allgather(color)
        members = [rank for rank in range(self.size) if colors[rank] == color]
        own = Shelf(len(members)) if self.rank == members[0] else None
        shelf = self.allgather(own)[members[0]]
        if own:
            self.shelf.groups.append(own)
        return Comm(members.index(self.rank), shelf)

    def Alltoallv(self, sent, received):
        vector, (counts, starts) = sent
        shares = [vector[start : start + count].copy() for start, count in zip(starts, counts, strict=True)]
        for place, theirs in zip(received[0], self.allgather(shares), strict=True):
            place[...] = theirs[self.rank]

    def Allgatherv(self, sent, received):
        vector, (counts, starts) = received
        for start, count, theirs in zip(starts, counts, self.allgather(sent.copy()), strict=True):
            vector[start : start + count] = theirs


def on_threads(count, work):
    """[work(ranks) of each rank]"""
    shelf = Shelf(count)

    def on_rank(rank):
        try:
            return work(Ranks(Comm(rank, shelf)))
        except BaseException:
            shelf.abort()  # nobody waits for a rank that fails
            raise

    with ThreadPoolExecutor(count) as pool:
        answers = [pool.submit(on_rank, rank) for rank in range(count)]
        errors = filter(None, (answer.exception() for answer in answers))
        for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
            raise error  # of the rank that failed first; the others' barriers broke
        return [answer.result() for answer in answers]
