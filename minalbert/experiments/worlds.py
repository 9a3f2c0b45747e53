"""The stories that models train on, and those that they are judged by.

A seed of an experiment is a seed of its stories, of a model's first weights and of its masks. What judges is the same
for all seeds and arms: stories of another seed, which no run trains on, in instances that are always the same. Rates
are chosen on stories and seeds apart from both.
"""

import dataclasses
import functools
from pathlib import Path
from typing import NamedTuple

from ..batch import Batch
from ..data.build import build
from ..data.instances import Instances
from ..data.recipe import Recipe
from ..data.shards import Corpus
from ..data.sources import story_sources
from ..data.tiny_worlds import TinyWorlds
from ..data.word_tokenizer import WordTokenizer
from .texts import RealText

JUDGED, PROBED, TRIED = 10_000, 10_001, 20_000       # seeds of stories that no run trains on
HELD_OUT = 3000                                      # stories
ROLES = {JUDGED: "judged", PROBED: "probed", TRIED: "probed"}          # of real text's documents; the others' is train


def corpus_of(place, worlds, stories):
    """The directory of a corpus, built unless it is there."""
    if isinstance(worlds, RealText):
        return worlds.directory(place, ROLES.get(worlds.seed, "train"))
    knobs = [f"{name}-{value:g}" for name, value in vars_that_differ(worlds).items()]
    directory = Path(place) / "worlds" / "-".join([*knobs, str(stories)])
    directory.parent.mkdir(parents=True, exist_ok=True)
    build(story_sources(worlds, stories), WordTokenizer(worlds.words()), directory)
    return directory


def vars_that_differ(worlds):
    """{knob: value} of those that are not the default."""
    if isinstance(worlds, RealText):
        return worlds.key
    fields = {item.name: item.default for item in dataclasses.fields(worlds)}
    return {name: getattr(worlds, name) for name in fields if getattr(worlds, name) != fields[name] or name == "seed"}


def vocabulary(worlds):
    """The number of pieces."""
    return worlds.pieces if isinstance(worlds, RealText) else 5 + len(worlds.words())


class HeldOut(NamedTuple):
    """Stories that no run trains on."""

    place: Path
    worlds: TinyWorlds | RealText
    recipe: Recipe                                   # of the arm's training
    seed: int = JUDGED
    most: int = 2**31                                # instances of a batch
    run: Path | None = None                          # the directory that the model was trained in

    def batch(self, count, seed=None, **recipe):
        """`count` instances by the arm's recipe, or a changed one; always the same ones."""
        worlds = dataclasses.replace(self.worlds, seed=self.seed if seed is None else seed)
        return instances_of(self.place, worlds, self.recipe.replace(**recipe), min(count, self.most))


@functools.cache
def instances_of(place, worlds, recipe, count):
    corpus = Corpus.open(corpus_of(place, worlds, HELD_OUT))
    instances = Instances(corpus, corpus.tokenizer(), recipe, seed=worlds.seed)
    return next(instances.batches(min(count, len(instances))))


def rows_of(batch, rows):
    """The rows of a batch that a mask or a slice chooses."""
    return Batch(*(array[rows] for array in batch))
