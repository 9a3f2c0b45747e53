"""Milestones: what your functions do together, in the library's model, each a line with a number.

    ex06    your encoder runs in the model
    ex09    the model trains with your losses
    ex10    it trains with your LAMB
    ex13    it is ALBERT: your reader and your functions give transformers' numbers

What else is written in the file's folder takes part, where the gradient check passes.
"""

import contextlib
import dataclasses
import io
from importlib import resources

import numpy as np

from minalbert.albert import Albert
from minalbert.config import AlbertConfig
from minalbert.errors import ConfigError
from minalbert.optim import AdamW, Lamb, Moments, Schedule, clip_factor, global_norm
from minalbert.params import Params, shapes

from . import outside
from .ending import ended_after
from .errors import CourseError
from .files import run as run_file
from .lessons.ex11.recipes import mean_mlm
from .makers.small_language import CONFIG, held_out_batches, new_model, training_batches
from .your_code import OPTIMISER, your_code

SECONDS, STEPS = 20, 200
PEAK = 0.02


def milestone(lesson, path):
    """The line of an exercise that has all its points; None where there is none, or it does not run."""
    if lesson.name not in MILESTONES:
        return None
    try:
        with ended_after(SECONDS, path.name), quiet():
            return MILESTONES[lesson.name](path)
    except (Exception, SystemExit):  # the points stand; this is about more than the exercise
        return None


@contextlib.contextmanager
def own(path, needed=None):
    """The functions of the file and of its folder in the model; of the file alone, if others are not right yet."""
    with contextlib.ExitStack() as stack:
        yours = None
        for source in ([path.parent, path], [path]):
            with contextlib.suppress(ConfigError, CourseError):
                yours = stack.enter_context(your_code(source))
                break
        if needed and (yours is None or needed not in yours.functions):
            raise CourseError(f"{path.name} has no {needed} for the model")
        yield yours


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        yield


def runs(path):
    (batch, *_), layers = held_out_batches(0), 12
    model = Albert.init(dataclasses.replace(CONFIG, num_hidden_layers=layers), 0, dtype="float64")
    right = float(model.loss(batch).total)
    with own(path, "encoder_forward"):
        found = float(model.loss(batch).total)
    return f"your encoder runs in the model, {layers} passes: loss {found:.4f}, with the library's {right:.4f}"


def trains(path):
    with own(path, "cross_entropy_forward"):
        before, after = trained(AdamW())
    return f"it trains with your losses: held-out MLM loss from {before:.2f} to {after:.2f} in {STEPS} steps"


def trains_with_lamb(path):
    with own(path, OPTIMISER) as yours:
        before, after = trained(yours.optimiser(Lamb()))
    return f"it trains with your LAMB: held-out MLM loss from {before:.2f} to {after:.2f} in {STEPS} steps"


def trained(optimiser, language=0):
    """The held-out MLM loss before and after a run in exercise 11's small language."""
    model, batches, test = new_model(language), training_batches(language), held_out_batches(language)
    before, moments, schedule = mean_mlm(model, test), Moments.zeros(model.params), Schedule(PEAK, STEPS, STEPS // 5)
    for step in range(STEPS):
        _, grads = model.loss_and_grads(batches[step % len(batches)])
        scale = clip_factor(global_norm(grads), 1.0)
        optimiser.step(model.params, grads, moments, schedule.rate(step), step + 1, scale)
    return before, mean_mlm(model, test)


def is_albert(path):
    given = outside.numbers("ex13")
    with resources.as_file(resources.files(outside) / "ex13") as folder:
        sizes, arrays = run_file(path)[0]["load"](str(folder))
    config = AlbertConfig(**sizes)
    model = Albert(config, Params.from_arrays(arrays, shapes(config), "float64"))
    with own(path) as yours:
        hidden, pooled = model.encode(*(given[name] for name in ("input_ids", "attention_mask", "token_type_ids")))
        words, order = model.mlm_logits(hidden), model.sop_logits(pooled)
    words_apart = np.abs(words - given["mlm_logits"])[given["attention_mask"] > 0]            # padding says nothing
    apart = max(words_apart.max(), np.abs(order - given["sop_logits"]).max())
    by = f"your {', '.join(yours.names)}" if yours and yours.names else "the library's functions"
    return f"it is ALBERT: read by your load, computed by {by}; its logits are within {apart:.0e} of transformers'"


MILESTONES = {"ex06": runs, "ex09": trains, "ex10": trains_with_lamb, "ex13": is_albert}
