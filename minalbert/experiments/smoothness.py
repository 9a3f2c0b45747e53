"""Figure 1: how far a layer's output is from its input, layer by layer, with shared weights and without.

Roughness is how much the curve over the layers goes up and down: the mean distance of a value from the middle of its
neighbours, without the first and the last layer. Fresh weights are measured, too: a stack of layers that have learnt
nothing is smooth by itself.
"""

from ..albert import Albert
from ..analysis.smoothness import roughness, smoothness
from .common import QUICK, RECIPE, STORIES, WORLDS
from .depth import sizes
from .experiment import Arm, Column, Experiment, Panel, Rule

SEQUENCES = 128


def measure(model, held_out):
    fresh = of_model(Albert.init(model.config, seed=held_out.seed), held_out)
    return of_model(model, held_out) | {f"{name}, fresh": value for name, value in fresh.items()}


def of_model(model, held_out):
    """Distances and angles, layer by layer, and their roughness."""
    inputs = held_out.batch(SEQUENCES)[:3]
    found = smoothness(list(model.hidden_states(*inputs)), inputs[1])
    curves = {"distance": found.distances, "angle": found.angles}
    scores = {f"{name} {layer}": value for name, values in curves.items() for layer, value in enumerate(values, 1)}
    scores |= {f"{name} roughness": roughness(values) for name, values in curves.items()}
    scores |= {f"{name} of the last layers": float(values[-4:-1].mean()) for name, values in curves.items()}
    return scores


EXPERIMENT = Experiment(
    name="smoothness",
    tables="Figure 1",
    claim="""
        The distances and angles between a layer's input and output go up and down from layer to layer in BERT-large,
        and change smoothly in ALBERT-large, so that sharing steadies the network. They do not fall to 0 by the 24th
        layer: the layers do not converge to a fixed point.
    """,
    paper={"all": {}, "none": {}},
    paper_columns={},
    columns={
        "distance roughness": Column("roughness of distances"),
        "distance roughness, fresh": Column("of fresh weights"),
        "angle roughness": Column("roughness of angles, degrees"), "angle roughness, fresh": Column("of fresh weights"),
        "distance of the last layers": Column("distance in layers 9 to 11", "{:.2f}"),
        "angle of the last layers": Column("angle in them, degrees", "{:.1f}"),
    },
    rules=(
        Rule("distances are smoother with sharing",
             lambda arms: arms["none"]["distance roughness"] - arms["all"]["distance roughness"]),
        Rule("angles are smoother with sharing",
             lambda arms: arms["none"]["angle roughness"] - arms["all"]["angle roughness"]),
        Rule("with sharing, the last layers still turn states by more than one degree",
             lambda arms: arms["all"]["angle of the last layers"] - 1.0),
    ),
    changed="whether the twelve layers share their weights",
    equal="first weights of a layer, stories, masks, 2,000 steps of 64; rate and spread of Table 11's 12 layers",
    means="""
        The values of the paper's curves are not printed in it, so that only their shape is compared. The models here
        are as deep as ALBERT-base and narrow, and have read 128,000 pairs of segments. All three rules hold for fresh
        weights, too, as the columns beside show: in part this is a matter of the construction, and what training adds
        is within the noise of three seeds. "Fresh" is one draw, measured on each seed's stories. Layers without sharing
        also move states further, which makes their curve rougher in degrees than it is in proportion.
    """,
    panels=(Panel("ours: roughness of distances", ours="distance roughness", form="{:.2f}", reverse=True),
            Panel("ours: roughness of angles, degrees", ours="angle roughness", form="{:.1f}", reverse=True)),
    arms={sharing: Arm({"sharing": sharing}) for sharing in ("all", "none")},
    settings=RECIPE.change(**sizes(12), steps=2000),
    worlds=WORLDS,
    stories=STORIES,
    measure=measure,
    quick=QUICK,
)
