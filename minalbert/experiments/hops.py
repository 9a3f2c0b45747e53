"""A probe of depth: who has a thing that went from hand to hand?

The models are those of `depth`. Each is fine-tuned on two tasks of tiny worlds whose texts differ in one thing alone:
how many hops lie between what is asked and the answer. Two chains are told in turns, so that the place of a sentence
tells nothing. A layer can look one hop further, if attention finds the next giver by the last receiver.
"""

from .depth import DEPTHS, name_of
from .depth import EXPERIMENT as DEPTH
from .experiment import Arm, Column, Experiment, Panel, Rule
from .labelled import fine_tuned

HOPS = (1, 2)
LABELS, STEPS = 5000, 3000


def measure(model, held_out):
    """The F1 of answers after one hop and after two."""
    rate = 0.002 * min(1, (3 / model.config.num_hidden_layers) ** 0.5)
    return {f"{hops} hops": fine_tuned(held_out, f"short_spans{hops}", LABELS, [rate], steps=STEPS)[0].score
            for hops in HOPS}


def better(less, more, hops=2):
    """A rule's value: how much better so many layers are."""
    return lambda arms: arms[name_of(more)][f"{hops} hops"] - arms[name_of(less)][f"{hops} hops"]


EXPERIMENT = Experiment(
    name="hops",
    tables="Table 11, probed",
    claim="""
        No table of the paper asks what the depth of Table 11 is used for. One use would be to follow a chain: each
        layer takes one hop.
    """,
    paper={},
    paper_columns={},
    columns={f"{hops} hops": Column(f"F1 after {hops} hop{'s' * (hops > 1)}", "{:.1%}") for hops in HOPS},
    rules=(
        Rule("after one hop, 3 layers are better than 1", better(1, 3, hops=1)),
        Rule("after two hops, 3 layers are better than 1", better(1, 3)),
        Rule("after two hops, 6 layers are better than 3", better(3, 6)),
        Rule("after two hops, 12 layers are better than 6", better(6, 12)),
        Rule("from 1 layer to 12, two hops gain more than one hop does",
             lambda arms: better(1, 12)(arms) - better(1, 12, hops=1)(arms)),
    ),
    changed="the number of layers, which share all their weights",
    equal=f"{LABELS:,} labels, {STEPS:,} steps of 32, AdamW at 0.002 √(3 / L), at 0.002 with one layer",
    means="""
        One question in five has no answer, because nobody in the text has the thing. Who always guesses between the two
        who got something last scores 40 %, and who finds the questions without an answer as well, 60 %. So three layers
        follow two hops in part, and six and twelve do not: as above, they had learnt little more than the frequencies
        of words when they were fine-tuned. Whether a hop takes a layer cannot be seen from models of such a start.
    """,
    panels=(Panel("one hop: F1", ours="1 hops"), Panel("two hops: F1", ours="2 hops")),
    arms={name_of(L): Arm(run_of=(DEPTH, name_of(L))) for L in DEPTHS},
    measure=measure,
)
