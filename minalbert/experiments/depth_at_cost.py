"""Table 11 at an equal cost: fewer layers make as many steps as cost the operations, or the seconds, of twelve.

Rates and first weights of a depth are those of `depth`, and twelve layers are its run.
"""

from itertools import pairwise

from .common import COLUMNS, QUICK, RECIPE, STORIES, WORLDS, equal_cost, loss, loss_of, measure
from .depth import DEPTHS, STEPS, name_of, sizes
from .depth import EXPERIMENT as DEPTH
from .experiment import Arm, Experiment, Panel, Rule

STEPS_AT = equal_cost(STEPS, 12, sizes, seconds={1: 14.0, 3: 4.19, 6: 1.99})


def name_at(cost, layers):
    """The arm that costs what twelve layers do."""
    return name_of(layers) + (f", {cost} of 12" if layers != 12 else "")


def rules_at(cost):
    """More layers have a lower loss, at an equal cost: each depth and the one before, and twelve and three."""
    return [Rule(f"at equal {cost}, {name_of(more)} have a lower loss than {fewer}",
                 loss_of(name_at(cost, fewer), name_at(cost, more))) for fewer, more in (*pairwise(DEPTHS), (3, 12))]


EXPERIMENT = Experiment(
    name="depth_at_cost",
    tables="Table 11, at equal cost",
    claim="""
        More depth helps: the mean score on tasks is 52.9 with 1 layer, 71.2 with 3, 77.2 with 6 and 81.5 with 12. The
        paper does not compare depths at an equal cost, and from 3 layers on its models begin with the weights of the
        one before.
    """,
    paper={},
    paper_columns={},
    columns=COLUMNS,
    rules=(*rules_at("operations"), *rules_at("seconds")),
    changed="the number of layers, which share all their weights, and of steps; with the layers rate and spread",
    equal="operations or seconds of all steps, parameters, stories, masks; states of 64",
    means="""
        At an equal cost, fewer layers with more steps have the lower loss: at equal operations {operations_1.mean:.2f}
        nats with one layer, {operations_3.mean:.2f} with three, {operations_6.mean:.2f} with six and {twelve.mean:.2f}
        with twelve. All begin with fresh weights. One layer reads its stories 12 times, and 16 times at equal seconds;
        twelve layers read them once. So the deep models are far from what they can learn, and whether they catch up
        with more steps was not tried. Rates are the best of 1,250 steps and serve up to 28,000. One layer's is too high
        for that with one seed of three, whose loss is {seconds_1.values[2]:.2f} nats; the others have
        {seconds_1.values[0]:.2f} and {seconds_1.values[1]:.2f}.
    """,
    facts={"twelve": loss(name_of(12))}
    | {f"{cost}_{L}": loss(name_at(cost, L)) for cost, steps in STEPS_AT.items() for L in steps},
    panels=(Panel("ours: loss on masked words, nats", ours="mlm loss", form="{:.2f}", reverse=True),),
    arms={name_at(cost, L): Arm(sizes(L) | {"steps": steps[L]}) for cost, steps in STEPS_AT.items() for L in steps}
    | {name_of(12): Arm(run_of=(DEPTH, name_of(12)))},
    settings=RECIPE.change(steps=STEPS),
    worlds=WORLDS,
    stories=STORIES,
    measure=measure,
    quick=QUICK,
)
