"""Many calls that differ in their generator alone, as a check makes them which counts what is drawn.

They are made quickly: whether a call changed what earlier ones had returned, or returned it again, is seen in the first
of them alone.
"""

from typing import NamedTuple

from .given import Given
from .values import Opaque, parts

ONE, SEVERAL = "rng", "several rngs"                 # kinds of Given: a generator, and one for each of several calls


class Seeded(NamedTuple):
    """args: of the first call; place: where among them its generator is; seeds: of each call"""

    args: tuple
    place: int
    seeds: tuple

    def with_generator(self, given):
        return (*self.args[: self.place], given, *self.args[self.place + 1 :])

    def with_seed(self, seed):
        return self.with_generator(Given.of(ONE, seed))

    def sent(self, start, end):
        """Arguments that stand for those of several calls: see `received`."""
        return self.with_generator(Given.of(SEVERAL, *self.seeds[start:end]))


def drawn(many, opaque):
    """A Seeded, if many calls (args, static) differ in their generator alone and return no caches; otherwise None"""
    if opaque or len(many) < 2:
        return None
    first, _ = many[0]
    places = [i for i, value in enumerate(first) if is_special(value)]
    if len(places) != 1 or not all(differs_at(places[0], first, *call) for call in many):
        return None
    return Seeded(first, places[0], tuple(args[places[0]].args[0] for args, _ in many))


def differs_at(place, first, args, static):
    same = len(args) == len(first) and all(one is other for one, other in zip(args, first, strict=True)
                                           if one is not args[place])  # fmt: skip
    return same and not static and is_seed(args[place])


def is_seed(value):
    return isinstance(value, Given) and value.kind == ONE and len(value.args) == 1


def is_special(value):
    """Is it, or does it hold, anything but plain values?"""
    return isinstance(value, Given | Opaque) or any(map(is_special, parts(value)))


def received(args):
    """The Seeded that was `sent`, or None if these are the arguments of one call"""
    for place, value in enumerate(args):
        if isinstance(value, Given) and value.kind == SEVERAL:
            return Seeded(args, place, value.args)
    return None
