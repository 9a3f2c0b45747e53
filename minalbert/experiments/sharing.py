"""Table 4: which parts of a layer may be shared, for a narrow embedding and for one as wide as the model.

What is measured here is the loss on masked words of stories that no run has read: it tells small differences between
models, which the scores of tasks would hide in the noise of fine-tuning. Each arm has a rate of its own, the best of
three for it, because sharing adds the gradients of all layers, so that one rate for all would favour an arm.
"""

from ..analysis import parameters
from ..data.tiny_worlds import TinyWorlds
from ..train.evaluation import evaluate
from ..train.settings import Settings
from .experiment import Arm, Column, Experiment, Panel, Rule

SHARING = ("all", "attention", "ffn", "none")
WIDTHS = (16, 64)                                    # of the embedding; the model's is 64
RATES = {                                            # chosen by `minalbert reproduce run sharing --try`
    (64, "all"): 0.004, (64, "attention"): 0.004, (64, "ffn"): 0.004, (64, "none"): 0.004,
    (16, "all"): 0.004, (16, "attention"): 0.004, (16, "ffn"): 0.004, (16, "none"): 0.004,
}  # fmt: skip
PAPER = {                                            # (parameters in millions, mean score on tasks)
    (64, "all"): (31, 79.8), (64, "attention"): (83, 81.6), (64, "ffn"): (57, 79.5), (64, "none"): (108, 82.3),
    (16, "all"): (12, 80.1), (16, "attention"): (64, 81.7), (16, "ffn"): (38, 80.2), (16, "none"): (89, 81.6),
}  # fmt: skip


def name_of(E, sharing):
    return f"E={E}, {sharing}"


def measure(model, held_out):
    found = evaluate(model, held_out.batch(3000))
    return {"mlm loss": found.mlm_loss, "mlm": found.mlm_accuracy, "sop": found.sop_accuracy,
            "weights": parameters.totals(model.config)["everything"]}


def costs(more, less, E=64):
    """The rule's value: the loss of sharing `more` is larger than that of sharing `less`."""
    return lambda arms: arms[name_of(E, more)]["mlm loss"] - arms[name_of(E, less)]["mlm loss"]


EXPERIMENT = Experiment(
    name="sharing",
    tables="Table 4",
    claim="""
        Sharing all costs 2.5 points on average with the wide embedding (E=768: 79.8 against 82.3) and 1.5 with the
        narrow one (E=128: 80.1 against 81.6). Most of that comes of sharing the feed-forward part; sharing attention
        alone costs 0.7 and gains 0.1.
    """,
    paper={name_of(*arm): {"millions": millions, "tasks": tasks} for arm, (millions, tasks) in PAPER.items()},
    paper_columns={"millions": Column("paper: million weights", "{:.0f}"), "tasks": Column("tasks", "{:.1f}")},
    columns={"weights": Column("ours: weights", "{:,.0f}"), "mlm loss": Column("loss on masked words, nats"),
             "mlm": Column("accuracy", "{:.1%}"), "sop": Column("SOP", "{:.1%}")},
    rules=(
        Rule("E=H: sharing all has a higher loss than sharing nothing", costs("all", "none")),
        Rule("E=H: sharing the feed-forward part costs more than sharing attention", costs("ffn", "attention")),
        Rule("E=H: sharing all costs more than sharing attention alone", costs("all", "attention")),
        Rule("E=H/4: sharing all has a higher loss than sharing nothing", costs("all", "none", 16)),
        Rule("E=H/4: sharing the feed-forward part costs more than sharing attention", costs("ffn", "attention", 16)),
        Rule("sharing all costs less with the narrow embedding",
             lambda arms: costs("all", "none")(arms) - costs("all", "none", 16)(arms)),
    ),
    changed="which halves of a layer are shared, and the width of the embedding; with them the rate",
    equal="stories (half rings, half lines), masks, steps, tokens, operations (but for E × H); four layers of 64",
    means="""
        Models of equal depth and equal steps are compared, after a short training. How sharing compares at equal time
        or equal numbers of weights is another question, and so is what many more steps would change: sharing sums the
        gradients of all layers, and may be ahead early and behind late.
    """,
    notes="""
        Sharing all with E=128 has MNLI 82.0 here and in Table 5, and 81.6 in Tables 2, 3 and 7; sharing nothing has
        83.2 here and 83.7 in Table 3. So differences of 0.4 to 0.5 are within the paper's own noise.
    """,
    panels=(Panel("the paper: mean score on tasks", "tasks", form="{:.0f}"),
            Panel("ours: loss on masked words, nats", ours="mlm loss", form="{:.2f}", reverse=True)),
    arms={name_of(E, sharing): Arm({"embedding_size": E, "sharing": sharing, "rate": RATES[E, sharing]})
          for E in (64, 16) for sharing in SHARING},
    settings=Settings().change(
        preset="tiny", num_hidden_layers=4, max_position_embeddings=32, max_length=32, max_predictions=5,
        steps=2500, batch=64, micro_batch=32, kernels="fused", optimiser="lamb", beta2=0.98,
        evaluate_every=500, evaluate_instances=1000, every=500,
    ),
    worlds=TinyWorlds(ring_fraction=0.5),
    stories=30_000,
    measure=measure,
    seeds=5,
    tried=({"rate": 0.002}, {"rate": 0.004}, {"rate": 0.008}),
    quick={"steps": 40, "evaluate_every": 40, "every": 20, "evaluate_instances": 100},
)
