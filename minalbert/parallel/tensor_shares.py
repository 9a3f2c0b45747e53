"""The optimiser's step, shared among ranks: each steps its own tensors, and has moments of these alone.

    add        each rank receives its own tensors' gradients from all others, and adds them
    norm       that of the whole gradient, of what each rank finds in its tensors
    step       each rank its own tensors
    collect    all ranks receive all new weights

As many bytes are sent as if every rank received the whole gradient's sum, and made the whole step. This is stage 1 of
ZeRO (Rajbhandari et al. 2020, arXiv:1910.02054). Tensors stay whole, because LAMB's ratio is of a tensor's norm, and
those of a rank are neighbours in the vector:

    tensors    word                     position ... key.b value.w value.b  output.w ...
    rank       000000000000000000000000000000000000000000000000000 11111111111111111111111
    pieces     |-----|-----|-----|-----|-----|-----|-----|-----|-----|-----|-----|-----|-     of the norm: optim/clip.py
                                                           ^^^ rank 1 adds these, too

A piece of the norm may begin in another rank's tensors. Its rank is the one that has its end: it adds what lies before
its own first tensor in the same piece. So each piece is one rank's, and the sums have the bits of one process.
"""

from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..backend import array_module, device_of, to_device, to_host
from ..optim import global_norm
from ..optim.clip import PIECE, added, squares, sum_of_squares
from ..params import Params, size_of
from .ranks import ALONE
from .tree import TreeSum

CALLS = 2000                                         # weights, in whose time a step calls NumPy for one more tensor


def shared_out(shapes, ranks):
    """[the names of each rank's tensors], in the order of the vector, so that all steps take about equally long."""
    before = [0, *accumulate(prod(shape) + CALLS for shape in shapes.values())]
    cuts = [min(range(len(before)), key=lambda place: abs(before[place] * ranks - before[-1] * rank))
            for rank in range(ranks + 1)]
    return [[*shapes][first:stop] for first, stop in pairwise(cuts)]


def places_of(lengths):
    """[(start, stop)] of vectors of these lengths, one behind the other."""
    return [*pairwise(accumulate(lengths, initial=0))]


class Pieces(NamedTuple):
    before: Any                                      # the sum of what lies before this rank's tensors in a piece
    squares: Any                                     # Σ g² of every piece


class TensorShares:
    def __init__(self, ranks=ALONE, params=None, shapes=None):
        """
        params   this rank's; those of all ranks have the same shapes
        shapes   of the whole model, if other ranks share it: then their tensors are shared out alike
        """
        self.ranks = ranks
        if ranks.size > 1:
            tables = [{name: params.shapes[name] for name in names}
                      for names in shared_out(shapes or params.shapes, ranks.size)]
            sizes, self.shapes = [*map(size_of, tables)], tables[ranks.rank]
            self.places = places_of(sizes)
            self.before = [(start - start % PIECE, start) for start, _ in self.places]
            ends = [stop if stop < sum(sizes) else -(-stop // PIECE) * PIECE for _, stop in self.places]
            self.pieces = [stop // PIECE - start // PIECE for start, stop in pairwise([0, *ends])]

    def own(self, params):
        """This rank's tensors, as views."""
        if self.ranks.size == 1:
            return params
        return Params(params.flat[slice(*self.places[self.ranks.rank])], self.shapes)

    def own_copy(self, params):
        return params if self.ranks.size == 1 else self.own(params).copy()

    def whole_of(self, own, shapes):
        """The whole Params, on every rank, of all ranks' own tensors. shapes: those of the whole"""
        if self.ranks.size == 1:
            return own
        whole = Params.zeros(shapes, own.dtype, own.device)
        self.own(whole).flat[...] = own.flat
        self.collect(whole)
        return whole

    def collect(self, params):
        """Replace all other ranks' tensors by theirs."""
        self.ranks.collect(params.flat, self.places)

    def add(self, grads, numbers):
        """Replace this rank's tensors by their sum over ranks. Returns (the sum of a short vector, Pieces)."""
        before = self.ranks.add_places(grads.flat, self.places, self.before)
        vectors, found = self.gathered(numbers, self.own_squares(grads.flat, before))
        tree = TreeSum(lambda left, right: left + right)
        for vector in vectors:
            tree.push(vector)
        return tree.total(), Pieces(before, found)

    def gathered(self, numbers, own):
        """([each rank's short vector], the squares of all pieces)"""
        places, count = places_of(len(numbers) + pieces for pieces in self.pieces), len(numbers)
        known = np.empty(places[-1][1])
        known[slice(*places[self.ranks.rank])] = np.concatenate([numbers, to_host(own)])
        self.ranks.collect(known, places)
        parts = [known[slice(*place)] for place in places]
        found = np.concatenate([part[count:] for part in parts]).astype(own.dtype)
        return [part[:count].astype(numbers.dtype) for part in parts], to_device(found, device_of(own))

    def norm(self, gradient):
        """√(Σ g²) over all tensors of a Gradient, with the bits of one process."""
        flat, pieces = gradient.grads.flat, gradient.pieces
        if self.ranks.size == 1:
            return global_norm(gradient.grads)

        def squares_of(dtype):
            if dtype is None:
                return pieces.squares
            return self.gathered(np.empty(0), self.own_squares(flat, pieces.before, dtype))[1]

        return array_module(flat).sqrt(added(squares_of, len(flat)))

    def own_squares(self, flat, before, dtype=None):
        """The `squares` of those pieces whose end is this rank's."""
        start, stop = self.places[self.ranks.rank]
        stop = stop if stop == len(flat) else stop - stop % PIECE
        if start >= stop:
            return squares(flat[:0], dtype)
        first = min(start - len(before) + PIECE, stop) if len(before) else start
        parts = [array_module(flat).concatenate([before, flat[start:first]]), flat[first:stop]]
        return array_module(flat).concatenate([squares(part, dtype) for part in parts if len(part)])

    def squares(self, grads):
        """{name: Σ g²} of all tensors."""
        found = {name: float(sum_of_squares(grad.reshape(-1))) for name, grad in self.own(grads).items()}
        return {name: value for known in self.ranks.gather(found) for name, value in known.items()}


UNSHARED = TensorShares()


class SharedStep:
    """An optimiser whose step is shared: each rank steps its own tensors, and then all receive the new weights."""

    def __init__(self, optimiser, shares):
        """optimiser: for this rank's own tensors"""
        self.optimiser, self.shares = optimiser, shares

    def step(self, params, grads, moments, rate, t, scale=1.0, only=None):
        """As an optimiser's, with moments of this rank's own tensors. Returns their trust ratios."""
        own, grads = self.shares.own(params), self.shares.own(grads)
        only = only if only is None else [name for name in only if name in own]
        ratios = self.optimiser.step(own, grads, moments, rate, t, scale, only) if len(own) else {}
        self.shares.collect(params)
        return ratios
