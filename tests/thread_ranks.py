"""Ranks that are threads: `answers = on_threads(4, work)` calls work(ranks) on each, over a communicator of ours."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

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

    def Ialltoallv(self, sent, received):
        vector, (counts, starts) = sent
        shares = [vector[start : start + count] for start, count in zip(starts, counts, strict=True)]
        return Request(lambda: self.all_to_all(shares, *received))

    def all_to_all(self, shares, room, counts):
        theirs = [shares[self.rank] for shares in self.allgather([share.copy() for share in shares])]
        assert [len(share) for share in theirs] == counts
        room.reshape(-1)[:] = np.concatenate(theirs)

    def Iallgatherv(self, sent, received):
        vector, (counts, starts) = received
        places = [vector[start : start + count] for start, count in zip(starts, counts, strict=True)]
        return Request(lambda: self.all_gather(places))

    def all_gather(self, places):
        for place, theirs in zip(places, self.allgather(places[self.rank].copy()), strict=True):
            place[...] = theirs


class Request:
    """Nothing is sent before somebody waits for it, the latest that MPI may."""

    def __init__(self, work):
        self.Wait = work


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
