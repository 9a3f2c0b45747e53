"""Which documents are held out from training, to test on.

A rule has a name, and a name's meaning never changes: a run notes it in its checkpoints, and resumes with it.

    one of each stretch    The documents of the whole corpus, in their order, are divided into as many stretches of
                           equal length as documents are wanted. Of each stretch one document is held out, the one with
                           the least hash of (seed, document). So their number is exact, every source gives its share,
                           and how the corpus is cut into shards does not matter.
    last of each shard     The last documents of each shard, their number rounded for each: as version 0.1.0 did.
"""

from typing import NamedTuple

import numpy as np

from ..arguments import number, one_of
from ..errors import DataError
from .chunks import BEFORE_ALL
from .random_draws import Choice, bits, keys
from .recipe import whole_number

AT_ONCE = 2**16                                      # stretches


class Split(NamedTuple):
    """What decides which documents are held out, besides their share. As a text, the note in a run's checkpoints."""

    seed: int = 0
    rule: str = "one of each stretch"

    def __str__(self):
        return f"{self.rule}, seed {self.seed}"

    @classmethod
    def noted(cls, text):
        """The Split of a note; None is that of a run of version 0.1.0, which had no other rule."""
        if text is None:
            return cls(0, OLDEST)
        rule, _, seed = str(text).rpartition(", seed ")
        if rule not in RULES or not seed.isdecimal():
            raise DataError(f"the run's documents were held out by {text!r}, which this minalbert does not know")
        return cls(int(seed), rule)


def held_out(counts, share, seed=0, rule="one of each stretch"):
    """(D,) bool: is the document held out? counts: the documents of each shard."""
    share = number("share", share, 0, 1, error=DataError)             # of the documents, to test on
    one_of("rule", rule, RULES, DataError)
    return RULES[rule](counts, share, whole_number("seed", seed))


def one_of_each_stretch(counts, share, seed):
    documents = sum(counts)
    wanted = round(share * documents)
    chosen = np.zeros(documents, bool)
    for first in range(0, wanted, AT_ONCE):
        last = min(first + AT_ONCE, wanted)
        numbers = np.arange(-(-first * documents // wanted), -(-last * documents // wanted))
        stretch = numbers * wanted // documents      # of each of these documents
        order = np.lexsort((bits(keys(seed, BEFORE_ALL, numbers), Choice.HELD_OUT), stretch))
        chosen[numbers[order[np.searchsorted(stretch, np.arange(first, last))]]] = True
    return chosen


def last_of_each_shard(counts, share, seed):
    return np.concatenate([np.arange(count) >= count - round(share * count) for count in counts])


RULES = {"one of each stretch": one_of_each_stretch, "last of each shard": last_of_each_shard}
NEWEST, OLDEST = RULES
