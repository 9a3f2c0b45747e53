"""What the tables about a model's shape have in common: a recipe, its stories, and the loss on masked words.

The loss tells small differences between models, which the scores of tasks would hide in the noise of fine-tuning.
"""

from ..analysis import parameters
from ..analysis.cost import training_operations
from ..data.tiny_worlds import TinyWorlds
from ..train.evaluation import evaluate
from ..train.settings import Settings
from .experiment import Column
from .worlds import vocabulary

INSTANCES = 3000                                     # that a model is judged by
STORIES = 30_000
KNOBS = {"p_branch": 0.0, "p_handover": 0.0, "p_long": 0.0, "p_fill": 0.1}       # as in `minalbert demo`
SPREAD = 0.125                                       # of first weights, 1 / √H
WORLDS = TinyWorlds(ring_fraction=0.5, **KNOBS)
RECIPE = Settings().change(
    preset="tiny", num_hidden_layers=3, max_position_embeddings=32, max_length=32, max_predictions=3,
    mask_fraction=0.1, short_fraction=0.5, steps=2500, batch=64, micro_batch=32,
    optimiser="lamb", beta2=0.98, evaluate_every=500, evaluate_instances=1000, every=500,
)
QUICK = {"steps": 4, "evaluate_every": 4, "every": 2, "log_every": 2, "evaluate_instances": 50}
COLUMNS = {"weights": Column("ours: weights", "{:,.0f}"), "mlm loss": Column("loss on masked words, nats"),
           "mlm": Column("accuracy", "{:.1%}"), "sop": Column("SOP", "{:.1%}")}


def operations(sizes):
    """The operations of a training step, for one instance and a model of these sizes."""
    settings = RECIPE.change(**sizes, vocab_size=vocabulary(WORLDS))
    return training_operations(settings.model, settings.recipe.max_length, settings.recipe.max_predictions)


def equal_cost(steps, usual, sizes, seconds):
    """{cost: {size: steps}}, for the operations and for the seconds of so many steps of the usual size.

    seconds: {size: the steps that take as long as one of the usual size}
    """
    each = {size: operations(sizes(size)) for size in (usual, *seconds)}
    return {"operations": {size: round(steps * each[usual] / each[size]) for size in seconds},
            "seconds": {size: round(steps * times) for size, times in seconds.items()}}


def measure(model, held_out):
    """The losses and accuracies of pretraining on stories that no run reads."""
    found = evaluate(model, held_out.batch(INSTANCES))
    return {"mlm loss": found.mlm_loss, "mlm": found.mlm_accuracy, "sop": found.sop_accuracy,
            "weights": parameters.totals(model.config)["everything"]}


def loss(arm):
    """A value: the loss of an arm."""
    return lambda arms: arms[arm]["mlm loss"]


def loss_of(more, less):
    """A value: how much higher the loss of the arm `more` is than that of `less`."""
    return lambda arms: arms[more]["mlm loss"] - arms[less]["mlm loss"]
