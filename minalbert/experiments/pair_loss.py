"""Table 5: the next sentence (NSP) or the order of sentences (SOP), or no loss on pairs at all.

All stories are rings: they begin anywhere in a circle of events, so that no word tells early from late, and only the
relation of two segments tells their order. NSP's negatives are of another of the eight scripts, as two documents of a
large corpus hardly ever tell of the same; what happens where they do is the table `collisions`.

A model's own head is asked both questions, as the paper seems to do: label 0 is "in order" and "the next", label 1
"swapped" and "of another document". `none` has no such head; of it, and of the others too, a linear probe is trained
on the last layer's state at [CLS]. The recipe is that of `minalbert demo`, without its limit of time.
"""

from ..albert import Albert
from ..data.tiny_worlds import TinyWorlds
from ..train.evaluation import evaluate
from ..train.settings import Settings
from .common import KNOBS, QUICK
from .experiment import Arm, Column, Experiment, Panel, Rule
from .linear_probe import probe
from .worlds import PROBED, rows_of

PAIRS = {"nsp": "next", "sop": "order"}              # whose label is judged
INSTANCES = 3000


def without_pair_loss(config, seed, before):
    """A model that has no head for pairs, so that it learns masked words alone."""
    return Albert.init(config, seed).with_heads(("mlm",))


def measure(model, held_out):
    """Accuracies: of masked words on pairs in order, which all arms have read, and on both questions about pairs."""
    order = held_out.batch(INSTANCES, pairs="sop")
    scores = {"mlm": evaluate(model, rows_of(order, order.sop_labels == 0)).mlm_accuracy}
    for pairs in PAIRS:
        batch = held_out.batch(INSTANCES, pairs=pairs)
        found = evaluate(model, batch)
        if found.sop_accuracy is not None:
            scores |= {pairs: found.sop_accuracy, f"{pairs} 0": found.sop_recall_in_order,
                       f"{pairs} 1": found.sop_recall_swapped}
        scores[f"{pairs} probe"], *_ = probe(model, held_out.batch(INSTANCES, PROBED, pairs=pairs), batch)
    return scores


def over_chance(arms):
    """How far SOP's accuracy on NSP is above its recall of pairs in order and half of the strangers."""
    return arms["SOP"]["nsp"] - (arms["SOP"]["nsp 0"] + 0.5) / 2


EXPERIMENT = Experiment(
    name="pair_loss",
    tables="Table 5",
    claim="""
        A model trained to predict the next sentence (NSP) has no idea of their order: 52.0 %, no more than one that was
        trained on neither (53.3 %). One trained on order (SOP) tells the next sentence with 78.9 %, and order with 86.5
        %. SOP gives better results on tasks (80.1 on average, NSP 79.2, none 79.0).
    """,
    paper={
        "none": {"mlm": 0.549, "nsp": 0.524, "sop": 0.533, "tasks": 79.0},
        "NSP": {"mlm": 0.545, "nsp": 0.905, "sop": 0.520, "tasks": 79.2},
        "SOP": {"mlm": 0.540, "nsp": 0.789, "sop": 0.865, "tasks": 80.1},
    },
    paper_columns={
        "mlm": Column("paper: masked words", "{:.1%}"), "nsp": Column("NSP", "{:.1%}"),
        "sop": Column("SOP", "{:.1%}"), "tasks": Column("tasks", "{:.1f}"),
    },
    columns={
        "mlm": Column("ours: masked words", "{:.1%}"),
        "nsp": Column("NSP", "{:.1%}"), "nsp 0": Column("of the next", "{:.0%}"),
        "nsp 1": Column("of others", "{:.0%}"),
        "sop": Column("SOP", "{:.1%}"), "sop 0": Column("of those in order", "{:.0%}"),
        "sop 1": Column("of swapped", "{:.0%}"),
        "nsp probe": Column("probe: NSP", "{:.1%}"), "sop probe": Column("probe: SOP", "{:.1%}"),
    },
    rules=(
        Rule("SOP learns order: its accuracy is above .75", lambda arms: arms["SOP"]["sop"] - 0.75),
        Rule("NSP learns the next sentence: above .75", lambda arms: arms["NSP"]["nsp"] - 0.75),
        Rule("NSP's head knows no order: below .55", lambda arms: 0.55 - arms["NSP"]["sop"]),
        Rule("nor does a linear probe of NSP's states: below .55", lambda arms: 0.55 - arms["NSP"]["sop probe"]),
        Rule("nor one of `none`: below .55", lambda arms: 0.55 - arms["none"]["sop probe"]),
        Rule("SOP's head knows something of the next sentence: above .55", lambda arms: arms["SOP"]["nsp"] - 0.55),
        Rule("and more than its recall of pairs in order, and half of the strangers, explain", over_chance),
        Rule("SOP costs less than .02 of accuracy on masked words", lambda arms: 0.02 + arms["SOP"]["mlm"]
             - arms["none"]["mlm"]),
    ),
    changed="the loss beside that of masked words. `none` reads the pairs that SOP reads, without their labels",
    equal="first weights, stories, 7,000 steps of 64 pairs, 32 tokens, LAMB at 0.003; two shared layers of 64",
    means="""
        What a head says to a question it was not trained for depends on what its threshold happens to separate; the
        probe asks what the state contains. Stories here have eight topics and one way to be in order, so the numbers
        are no estimate for English. The paper's 78.9 % contains 68.3 % that come of its recall and of guessing: (86.5
        + 50) / 2. Notebook 9 asks the same with pairs of 80 tokens, none of them of two sentences only, and
        without cues from names: its NSP models guess on order, 49.3 %, as the paper's do. So what NSP learns depends
        on the pairs it is given. `collisions` varies two things about them, and no difference between its arms shows.
    """,
    notes="""
        The paper does not say how it reads a model on a question that it has no head for; `none` has none. And the
        released script gives a document that is a single chunk a stranger as its second segment, labelled as swapped:
        some NSP in its SOP. Here no SOP pair is of two documents.
    """,
    panels=(Panel("right on masked words", "mlm", "mlm"), Panel("on the next sentence (NSP)", "nsp", "nsp"),
            Panel("on order (SOP)", "sop", "sop")),
    arms={
        "none": Arm({"pairs": "sop"}, start=without_pair_loss),
        "NSP": Arm({"pairs": "nsp"}),
        "SOP": Arm({"pairs": "sop"}),
    },
    settings=Settings().change(
        preset="tiny", num_hidden_layers=2, max_position_embeddings=32, max_length=32, max_predictions=3,
        mask_fraction=0.1, short_fraction=0.5, steps=7000, batch=64, micro_batch=32,
        optimiser="lamb", rate=0.003, beta2=0.98, evaluate_every=500, evaluate_instances=1000, every=1000,
    ),
    worlds=TinyWorlds(ring_fraction=1.0, **KNOBS),
    stories=30_000,
    measure=measure,
    seeds=5,
    quick=QUICK,
)
