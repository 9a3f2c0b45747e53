"""What the file of a table has: a claim, and how it is put to the test."""

from collections.abc import Callable
from typing import NamedTuple

from ..data.tiny_worlds import TinyWorlds
from ..train.settings import Settings


class Arm(NamedTuple):
    """One of the things that are compared."""

    settings: dict = {}                              # noqa: RUF012  what it changes of the experiment's settings
    start: Callable | None = None                    # (config, seed, model of another arm) -> the model it begins with
    after: str = ""                                  # that other arm
    stories: int = 0                                 # to train on, instead of the experiment's
    run_of: tuple = ()                               # (another experiment, its arm), whose run this one measures


class Rule(NamedTuple):
    """One sentence of a claim as a number that is positive where it holds, from the scores of one seed.

    value({arm: {measure: score}}) -> number

    The claim shows if the whole interval of its mean lies above 0, and the opposite shows if all of it lies below.
    """

    says: str
    value: Callable


class Column(NamedTuple):
    """A measure, as tables show it."""

    title: str
    form: str = "{:.3f}"


class Panel(NamedTuple):
    """A measure in the figure: the paper's, ours, or both on one axis."""

    title: str
    paper: str = ""                                  # names of the measures
    ours: str = ""
    form: str = "{:.0%}"
    reverse: bool = False                            # less is better, and is to the right


class Experiment(NamedTuple):
    name: str                                        # of its file, and of its results
    tables: str                                      # of the paper
    claim: str                                       # in the paper's words and numbers
    paper: dict                                      # {arm: {measure: number}}; measures are named in paper_columns
    paper_columns: dict                              # {measure: Column}
    columns: dict                                    # {measure: Column}, ours
    rules: tuple
    changed: str                                     # from arm to arm
    equal: str                                       # between all arms
    means: str                                       # what may be concluded, and what not
    facts: dict = {}                                 # noqa: RUF012  {name: value(arms), as a Rule has}, numbers in `means`
    notes: str = ""                                  # where the paper contradicts itself
    exact: Callable | None = None                    # () -> {arm: {measure: number}}: counted, and nothing trained
    arms: dict = {}                                  # noqa: RUF012  {name: Arm}
    settings: Settings | None = None                 # of all arms
    worlds: TinyWorlds | None = None                 # whose stories they read
    stories: int = 0
    measure: Callable | None = None                  # (model, held_out: worlds.HeldOut) -> {measure: number}
    measured_by: dict = {}                           # noqa: RUF012  what numbers depend on besides the run, for results
    seeds: int = 3
    tried: tuple = ()                                # ({setting: value}, ...), of which the best is chosen beforehand
    tried_for: tuple = ()                            # by these arms
    quick: dict = {}                                 # noqa: RUF012  settings of --quick
    panels: tuple = ()                               # of its figure
