"""The runs that a table asks for: an arm with a seed, in a size.

A size is "full", "quick" (a few steps, no verdict), "tried": what a rate is chosen by, with a seed and with stories
that are no others'; or Larger: the same table with wider models and more steps, on a GPU if there is one. A cell is
the same as another if its settings and stories are: that is what `key` says, and a result that has a cell's key is
that cell's.
"""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from ..analysis.cost import training_operations
from ..data.tiny_worlds import TinyWorlds
from ..train.settings import Settings
from .experiment import Experiment
from .texts import RealText
from .worlds import JUDGED, TRIED, HeldOut, vars_that_differ, vocabulary

FULL, QUICK, TRYING = "full", "quick", "tried"
FIRST_SEED = 100                                     # 0 to 9 are those that recipes were first tried with
TRIED_SEED = 1000
QUICK_STORIES, QUICK_INSTANCES = 100, 128
WIDTHS = "hidden_size", "embedding_size", "num_attention_heads", "intermediate_size"


class Larger(NamedTuple):
    """Models so many times as wide, with as many times the steps. Rates and spreads of weights fall by its root."""

    times: int
    device: str = "cpu"

    def __str__(self):
        return f"{self.times} times, {self.device}"

    def __call__(self, settings):
        """The settings in this size."""
        model, more = settings.model, self.times
        wider = {name: more * getattr(model, name) for name in WIDTHS}
        return settings.change(**wider, initializer_range=model.initializer_range / more**0.5, device=self.device,
                               rate=settings.peak_rate / more**0.5, steps=more * settings.training.steps)


class TableCell(NamedTuple):
    experiment: Experiment
    size: str | Larger
    arm: str
    seed: int
    settings: Settings
    worlds: TinyWorlds | RealText
    stories: int
    choice: dict                                     # what is tried
    home: tuple | None = None                        # the cell of another table, whose run this one measures

    @property
    def trained(self):
        """The cell whose directory has the run."""
        return self.home or self

    @property
    def name(self):
        """The name of its directory."""
        tried = [f"{name}-{value:g}" for name, value in self.choice.items()]
        size = str(self.size).replace(",", "")
        return " ".join([size, self.arm, *tried, f"seed-{self.seed}"]).replace(" ", "_").replace("=", "-")

    @property
    def key(self):
        given = {name: value for table in self.settings.given.values() for name, value in table.items()}
        measured = {"measured_by": self.experiment.measured_by} if self.experiment.measured_by else {}
        return measured | {"table": self.experiment.name, "size": str(self.size), "arm": self.arm, "seed": self.seed,
                "preset": self.settings.preset, "settings": given, "worlds": vars_that_differ(self.worlds),
                "stories": self.stories}

    @property
    def tokens(self):
        training = self.settings.training
        return training.steps * training.batch * self.settings.recipe.max_length

    @property
    def operations(self):
        """The operations of all its steps, with every instance at its full length."""
        training, recipe = self.settings.training, self.settings.recipe
        each = training_operations(self.settings.model, recipe.max_length, recipe.max_predictions)
        return training.steps * training.batch * each

    def held_out(self, place):
        found = HeldOut(Path(place), self.worlds, self.settings.recipe, TRIED if self.size == TRYING else JUDGED)
        return found._replace(most=QUICK_INSTANCES) if self.size == QUICK else found


def cells_of(experiment, size=FULL, seeds=None):
    """All cells of a table, those of one seed after the other."""
    if size == TRYING:
        return [cell_of(experiment, size, arm, TRIED_SEED, choice) for choice in experiment.tried
                for arm in experiment.tried_for]
    wanted = (1 if size == QUICK else experiment.seeds) if seeds is None else seeds
    seeds = range(FIRST_SEED, FIRST_SEED + wanted)
    return [cell_of(experiment, size, arm, seed) for seed in seeds for arm in experiment.arms]


def cell_of(experiment, size, arm, seed, choice={}):  # noqa: B006
    changed = experiment.arms[arm]
    if changed.run_of:
        other, its_arm = changed.run_of
        cell = cell_of(other, size, its_arm, seed, choice)
        return cell._replace(experiment=experiment, arm=arm, home=cell.trained)
    settings = experiment.settings.change(**changed.settings | {"seed": seed} | choice)
    stories = changed.stories or experiment.stories
    if isinstance(size, Larger):
        settings = size(settings)
    if size == QUICK:
        settings, stories = settings.change(**experiment.quick), min(stories, QUICK_STORIES)
    worlds = dataclasses.replace(experiment.worlds, seed=seed)
    settings = settings.change(vocab_size=vocabulary(worlds))
    return TableCell(experiment, size, arm, seed, settings, worlds, stories, dict(choice))
