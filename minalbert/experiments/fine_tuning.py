"""How often fine-tuning fails: by rate, by depth, with shared layers and without.

A claim of users, and not of the paper's tables: large ALBERT models fail where BERT does not, and a lower rate helps.
The models are those of `sharing` (three layers) and of `smoothness` (twelve). Each is fine-tuned on topics of stories
(16 of them, 320 labels) at four rates with three choices of labels. A run has failed if guessing may reach what
it scores, or if it gives the same answer to everything: so `minalbert finetune --rates` counts, too.
"""

import statistics

from .experiment import Arm, Column, Experiment, Panel, Rule
from .labelled import fine_tuned
from .sharing import EXPERIMENT as SHARING
from .smoothness import EXPERIMENT as SMOOTHNESS

TASK, LABELS = "topic", 320
RATES = (0.0003, 0.001, 0.003, 0.01)
ORDERS = (0, 1, 2)                                   # seeds: of the labels that are seen, and of their order
ARMS = {"3 layers, shared": (SHARING, "E=16, all"), "3 layers, not shared": (SHARING, "E=16, none"),
        "12 layers, shared": (SMOOTHNESS, "all"), "12 layers, not shared": (SMOOTHNESS, "none")}


def measure(model, held_out):
    """Shares of failed runs, at each rate and at all; the median accuracy at the best rate."""
    runs = fine_tuned(held_out, TASK, LABELS, RATES, ORDERS)
    at = {rate: [run for run in runs if run.rate == rate] for rate in RATES}
    scores = {f"failed at {rate:g}": statistics.mean(run.failed for run in found) for rate, found in at.items()}
    best = max(statistics.median(run.score for run in found) for found in at.values())
    return scores | {"failed": statistics.mean(scores.values()), "best": best}


def failed(depth):
    """Over both arms of a depth."""
    return lambda arms: (arms[f"{depth} layers, shared"]["failed"] + arms[f"{depth} layers, not shared"]["failed"]) / 2


EXPERIMENT = Experiment(
    name="fine_tuning",
    tables="Fine-tuning that fails",
    claim="""
        No table of the paper says how often a fine-tuning fails. Users report that the larger models often do. The
        authors say that the second version of the largest model diverges on RACE with the first one's settings; they
        halve its rate, from 0.00002, and take no dropout.
    """,
    paper={},
    paper_columns={},
    columns={f"failed at {rate:g}": Column(f"failed at {rate:g}", "{:.0%}") for rate in RATES}
    | {"failed": Column("at all rates", "{:.0%}"), "best": Column("median accuracy at the best rate", "{:.1%}")},
    rules=(
        Rule("with 12 layers, shared ones fail more often than others",
             lambda arms: arms["12 layers, shared"]["failed"] - arms["12 layers, not shared"]["failed"]),
        Rule("with 3 layers, shared ones fail more often than others",
             lambda arms: arms["3 layers, shared"]["failed"] - arms["3 layers, not shared"]["failed"]),
        Rule("with 12 layers, more runs fail than with 3", lambda arms: failed(12)(arms) - failed(3)(arms)),
        Rule("12 shared layers fail more often at 0.01 than at 0.001",
             lambda arms: arms["12 layers, shared"]["failed at 0.01"] - arms["12 layers, shared"]["failed at 0.001"]),
    ),
    changed="depth and sharing, of pretrained models; and the rate of fine-tuning",
    equal=f"{LABELS} labels of {TASK}, ten times, batches of 32, AdamW, no dropout but 0.1 before the classifier",
    means="""
        A run has failed if guessing may reach what it scores, or if it gives one answer to everything. A share is of
        nine runs: three seeds, each with three choices of labels. That shared layers fail more often does not show, at
        either depth. At 0.01 all runs of twelve layers fail, shared or not, and at 0.001 none; so that interval has no
        width. More runs of twelve layers fail than of three. But the two were pretrained with other rates, steps and
        widths of the embedding, so depth need not be the reason.
    """,
    panels=(Panel("runs that fail, at all rates", ours="failed", reverse=True),
            Panel("at 0.003", ours="failed at 0.003", reverse=True),
            Panel("at 0.01", ours="failed at 0.01", reverse=True)),
    arms={arm: Arm(run_of=other) for arm, other in ARMS.items()},
    measure=measure,
    measured_by={"task": TASK, "labels": LABELS, "rates": list(RATES), "orders": list(ORDERS)},
)
