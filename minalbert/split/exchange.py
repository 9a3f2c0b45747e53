"""The sum of all ranks' arrays, in one fixed order, the same bits on each rank."""

from ..backend import array_module


class Exchange:
    def __init__(self, ranks):
        """ranks: those that share a model, such as parallel.Ranks: .rank, .size, .share(count), .add(vector)"""
        self.ranks, self.rank, self.size, self.share = ranks, ranks.rank, ranks.size, ranks.share

    def add(self, x):
        """Replace x, if its numbers lie in a row, by its sum over the ranks; return the sum."""
        x = array_module(x).ascontiguousarray(x)
        self.ranks.add(x.reshape(-1))
        return x

    def gather(self, x):
        """(R, ...): every rank's x, as a sum of arrays that are zero but for one row."""
        rows = array_module(x).zeros((self.size, *x.shape), x.dtype)
        rows[self.rank] = x
        return self.add(rows)

    def once(self, b):
        """b on the first rank, zeros on the others: what is added before a sum over ranks must be in it once."""
        return b if self.rank == 0 else array_module(b).zeros_like(b)
