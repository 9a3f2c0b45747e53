"""Table 11: deeper with the same parameters, because all layers share one set.

The paper begins each depth with the weights of the one before ("warm"), and says that this does not help in the end.
Here each depth is also trained from fresh weights. All arms take the same number of steps of their own, so that a warm
one has read more in all, and a deeper one costs more; `depth_at_cost` has depths at equal operations and seconds.

Each depth has a rate of its own, the best of five in fewer steps. More layers begin with smaller weights: with those
of three, twelve layers were no better than the frequencies of words after 1,000 steps, at any of three rates.
"""

from itertools import pairwise

from ..albert import Albert
from .common import COLUMNS, QUICK, RECIPE, SPREAD, STORIES, WORLDS, loss, loss_of, measure
from .experiment import Arm, Column, Experiment, Panel, Rule

DEPTHS = (1, 3, 6, 12)
PAPER = {1: 52.9, 3: 71.2, 6: 77.2, 12: 81.5}
RATES = {1: 0.008, 3: 0.004, 6: 0.002, 12: 0.002}    # the best of those tried


def name_of(layers, warm=False):
    return f"{layers} layer{'s' * (layers > 1)}{', warm' * warm}"


def deeper(config, seed, before):
    """The weights of a model with fewer layers, used more often."""
    return Albert(config, before.params)


def sizes(layers):
    """What a depth changes: the rate and the spread of first weights, too."""
    return {"num_hidden_layers": layers, "rate": RATES[layers], "initializer_range": SPREAD * min(1, (3 / layers)**0.5)}


STEPS = 2000
COLD = {name_of(L): Arm(sizes(L)) for L in DEPTHS}
WARM = {name_of(L, True): Arm(sizes(L), deeper, name_of(fewer, fewer > 1)) for fewer, L in pairwise(DEPTHS)}

EXPERIMENT = Experiment(
    name="depth",
    tables="Table 11",
    claim="""
        With 18M parameters at every depth, the mean score on tasks is 52.9 with 1 layer, 71.2 with 3, 77.2 with 6, 81.5
        with 12, 82.1 with 24 and 81.8 with 48. More depth helps, less and less, and in the end not at all. From 3
        layers on, a model begins with the weights of the one before. That lets 48 layers converge, but does not help
        the final result (24 layers: 82.1, and 82.4 from fresh weights).
    """,
    paper={name_of(L, L > 1): {"tasks": PAPER[L]} for L in DEPTHS},
    paper_columns={"tasks": Column("paper: tasks", "{:.1f}")},
    columns=COLUMNS,
    rules=(
        Rule("3 layers have a lower loss than 1", loss_of(name_of(1), name_of(3))),
        Rule("6 layers have a lower loss than 3", loss_of(name_of(3), name_of(6))),
        Rule("12 layers have a lower loss than 6", loss_of(name_of(6), name_of(12))),
        Rule("the step from 1 to 3 is worth more than that from 3 to 12",
             lambda arms: loss_of(name_of(1), name_of(3))(arms) - loss_of(name_of(3), name_of(12))(arms)),
        Rule("12 layers that begin with the weights of 6 are no better than fresh ones",
             loss_of(name_of(12, True), name_of(12))),
    ),
    changed="the number of layers, which share all their weights, and what they begin with; with it rate and spread",
    equal=f"parameters, stories, masks, {STEPS:,} steps of 64; states of 64",
    means="""
        From fresh weights, more layers have a higher loss here. All know more than the frequencies of words (5.39
        nats): twelve layers have {twelve.mean:.2f}. Deeper models have lower rates, because higher ones failed; whether
        they only need more steps was not tried. Each rate is the best of five after 1,250 steps of another seed. Warm
        models have a lower loss, and have read two to four times as much in all. In the paper, after 125,000 steps, a
        warm start changes little. The paper's own series is the warm one, which no rule judges: seen afterwards, one
        layer and three differ by {one_three.mean:.2f} nats ({one_three.low:.2f} to {one_three.high:.2f}), three and six
        by {three_six.mean:.2f} ({three_six.low:.2f} to {three_six.high:.2f}), six and twelve by {six_twelve.mean:.2f}
        ({six_twelve.low:.2f} to {six_twelve.high:.2f}). So deeper is better, less and less, as in the paper; but each
        of these has read more than the one before. `depth_at_cost` compares fresh models only.
    """,
    facts={"twelve": loss(name_of(12)), "one_three": loss_of(name_of(1), name_of(3, True)),
           "three_six": loss_of(name_of(3, True), name_of(6, True)),
           "six_twelve": loss_of(name_of(6, True), name_of(12, True))},
    panels=(Panel("the paper: mean score on tasks", "tasks", form="{:.0f}"),
            Panel("ours: loss on masked words, nats", ours="mlm loss", form="{:.2f}", reverse=True)),
    arms=COLD | WARM,
    settings=RECIPE.change(steps=STEPS),
    worlds=WORLDS,
    stories=STORIES,
    measure=measure,
    tried=tuple({"rate": rate, "steps": 1250} for rate in (0.001, 0.002, 0.004, 0.008, 0.016)),
    tried_for=tuple(COLD),
    quick=QUICK,
)
