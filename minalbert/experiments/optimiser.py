"""LAMB and AdamW by batch and rate: at which rates each of them learns, and what LAMB's trust ratios are.

Every arm reads the same 32,768 instances once, in 2,048 batches of 16 or in 128 of 256. The rates of an arm are a
factor of 2 apart. Losses are compared at the rates that were best with another seed, on stories that judge nothing
else. A rate is *good* if its loss is within 0.1 nats of the best one of the same seed, optimiser and batch.

The √batch rule says that a batch 16 times as large wants a rate 4 times as high, which is two steps of the grid.
"""

import math

import numpy as np

from ..train.curves import read_curves
from .common import COLUMNS, QUICK, RECIPE, STORIES, WORLDS
from .common import measure as measure_losses
from .experiment import Arm, Column, Experiment, Panel, Rule

READ = 32_768                                        # instances
BATCHES = (16, 256)
RATES = {"LAMB": (0.001, 0.002, 0.004, 0.008, 0.016), "AdamW": (0.0005, 0.001, 0.002, 0.004, 0.008)}
CHOSEN = {("LAMB", 16): 0.004, ("LAMB", 256): 0.008, ("AdamW", 16): 0.004, ("AdamW", 256): 0.004}
CLOSE = 0.1                                          # nats


def name_of(optimiser, batch, rate):
    return f"{optimiser}, {batch}, {rate:g}"


def measure(model, held_out):
    """The losses, and the largest and the smallest trust ratio of a tensor in the second half of the run."""
    ratios = dict(read_curves(held_out.run).ratios)
    ratios.pop("step", None)
    middle = [float(np.median(values[len(values) // 2 :])) for values in ratios.values()]
    return measure_losses(model, held_out) | ({"largest": max(middle), "smallest": min(middle)} if middle else {})


def chosen(arms, optimiser, batch):
    """The loss at the rate that was chosen beforehand."""
    return arms[name_of(optimiser, batch, CHOSEN[optimiser, batch])]["mlm loss"]


def losses(arms, optimiser, batch):
    """{rate: loss}"""
    return {rate: arms[name_of(optimiser, batch, rate)]["mlm loss"] for rate in RATES[optimiser]}


def best_rate(arms, optimiser, batch):
    found = losses(arms, optimiser, batch)
    return min(found, key=found.get)


def good(arms, optimiser, batch):
    """The number of good rates."""
    found = losses(arms, optimiser, batch).values()
    return sum(loss < min(found) + CLOSE for loss in found)


def lower(arms, batch):
    """How much lower LAMB's loss is than AdamW's."""
    return chosen(arms, "AdamW", batch) - chosen(arms, "LAMB", batch)


def lost(arms, optimiser):
    """How much higher the loss is with the large batch."""
    return chosen(arms, optimiser, BATCHES[1]) - chosen(arms, optimiser, BATCHES[0])


def near_the_rule(optimiser):
    """A rule's value: positive if the best rate of the large batch is that of the √batch rule, or a step beside it."""

    def value(arms):
        small, large = (best_rate(arms, optimiser, batch) for batch in BATCHES)
        return 1.5 - abs(math.log2(large / small) - math.log2(BATCHES[1] / BATCHES[0]) / 2)

    return value


ARMS = {name_of(optimiser, batch, rate): Arm({"optimiser": optimiser.lower(), "rate": rate, "batch": batch,
                                              "micro_batch": min(batch, 32), "steps": READ // batch})
        for optimiser, rates in RATES.items() for batch in BATCHES for rate in rates}

EXPERIMENT = Experiment(
    name="optimiser",
    tables="LAMB, batch 4,096, rate 0.00176",
    claim="""
        ALBERT is trained with LAMB, in batches of 4,096 at a rate of 0.00176. The paper compares it with nothing.
        LAMB's own says that it keeps what a model learns as batches grow, with rates by the √batch rule, where Adam
        does not.
    """,
    paper={},
    paper_columns={},
    columns=COLUMNS | {"largest": Column("largest trust ratio of a tensor", "{:.2f}"),
                       "smallest": Column("smallest", "{:.3f}")},
    rules=(
        Rule("in batches of 256, LAMB has a lower loss than AdamW", lambda arms: lower(arms, 256)),
        Rule("in batches of 16, LAMB has a lower loss than AdamW", lambda arms: lower(arms, 16)),
        Rule("both lose by the large batch; LAMB", lambda arms: lost(arms, "LAMB")),
        Rule("AdamW", lambda arms: lost(arms, "AdamW")),
        Rule("LAMB loses less by it than AdamW", lambda arms: lost(arms, "AdamW") - lost(arms, "LAMB")),
        Rule("LAMB's best rate is where the √batch rule says, or a factor of 2 beside it", near_the_rule("LAMB")),
        Rule("so is AdamW's", near_the_rule("AdamW")),
        Rule("in batches of 256, more of LAMB's rates are good than of AdamW's",
             lambda arms: good(arms, "LAMB", 256) - good(arms, "AdamW", 256)),
        Rule("LAMB's trust ratios differ by more than a factor of 10 between tensors (256, rate 0.004)",
             lambda arms: arms[name_of("LAMB", 256, 0.004)]["largest"]
             - 10 * arms[name_of("LAMB", 256, 0.004)]["smallest"]),
    ),
    changed="optimiser, batch and rate",
    equal="the instances that are read, each once, masks, β = 0.9 and 0.98, decay 0.01; two shared layers of 64",
    means="""
        Losses are compared at one rate for each optimiser and batch, the best of five with a seed and stories of its
        own. Two of these rates are bad with one seed of three: AdamW's for batches of 16 has {adamw.values[2]:.2f}
        nats, where the other seeds have {adamw.values[1]:.2f} and {adamw.values[0]:.2f}, and LAMB's for batches of 256
        has {lamb_256.values[2]:.2f}, no more than frequencies of words know (5.39). So the intervals are wide: a rate
        that was best once can fail with other weights. In 128 batches of 256 nobody gets far: at the chosen rates the
        means are {lamb_256.mean:.2f} (LAMB) and {adamw_256.mean:.2f} (AdamW). There the good rates, and the best one of
        a seed, may be of runs that learnt nothing; so the √batch rule's verdict means little. For batches of 16 the map
        tells which rates are safe. Later work found that Adam, with all of its settings tuned, keeps up with LAMB in
        much larger batches; 256 short pairs are no test of that. The two optimisers' rates mean different things:
        LAMB's is the share of a tensor's norm that a step changes, AdamW's is a length.
    """,
    panels=(Panel("loss on masked words, nats", ours="mlm loss", form="{:.2f}", reverse=True),
            Panel("largest trust ratio of a tensor", ours="largest", form="{:.2f}")),
    facts={"adamw": lambda arms: chosen(arms, "AdamW", 16), "lamb_256": lambda arms: chosen(arms, "LAMB", 256),
           "adamw_256": lambda arms: chosen(arms, "AdamW", 256)},
    arms=ARMS,
    settings=RECIPE.change(num_hidden_layers=2, spikes="note"),
    worlds=WORLDS,
    stories=STORIES,
    measure=measure,
    tried=({},),                                     # every arm as it is
    tried_for=tuple(ARMS),
    quick=QUICK,
)
