"""Pretraining: the part of a run that fine-tuning does not share. `assemble.py` lists what such a job has."""

import functools

from ..albert import Albert
from ..arguments import of_kind
from ..data.held_out import Split
from ..data.order import batches
from ..data.tokenizer import check_belongs
from ..errors import TrainError
from ..parallel import ALONE, gradient_over
from ..params import HEADS
from .assemble import train_run
from .begin import check_sizes
from .evaluation import HeldOutTest
from .settings import Settings
from .trained import model_directory, weights_of
from .training_data import SPLIT, prepare

FEW = 100                                            # instances, for a score in per cent


def pretrain(settings, run, corpus=None, held_out=None, observer=None, from_step=None, own_code=None, ranks=ALONE):
    """Train until the last step, or until a signal asks to stop. Returns a RunResult.

    corpus, held_out   (corpus, tokenizer) each, instead of the directories in the settings
    others             as in `train_run`
    """
    of_kind("settings", settings, Settings)
    return train_run(functools.partial(Pretraining, corpus=corpus, held_out=held_out), settings, run, observer,
                     from_step, own_code, ranks)


class Pretraining:
    noun, option = "instances", "--corpus"
    selection = ()                                   # all steps are alike

    def __init__(self, settings, run=None, noted=None, ranks=ALONE, corpus=None, held_out=None):
        self.data = data = prepare(settings, corpus, held_out, split_of(noted))
        if settings.training.weights and not noted:
            model_directory(settings.training.weights)           # raises an error if there is none
        self.settings = settings.change(vocab_size=data.config.vocab_size)
        self.config, self.tokenizer, self.hashes = data.config, data.tokenizer, data.hashes
        self.size = len(data.instances)
        self.origin = f" of corpus {settings.data.corpus}" if settings.data.corpus else ""
        self.test, self.ranks = HeldOutTest(data.held_out, data.baselines, data.pairs, ranks), ranks
        self.batches = functools.partial(batches, data.instances, settings.training.micro_batch, settings.slices,
                                         share=ranks.data_group.share(settings.slices))

    def fresh_model(self, compute):
        training = self.settings.training
        if not training.weights:
            heads = HEADS if self.settings.recipe.segments == 2 else ("mlm",)
            return Albert.init(self.config, training.seed, heads, training.dtype, training.device, **compute)
        model = weights_of(training.weights, training.dtype, training.device)
        config = self.config_of(model.config, training.weights)
        check_belongs(self.tokenizer, model.tokenizer_digest, "the corpus's tokenizer")
        if not {"mlm.bias", "sop.b"} & set(model.params):
            raise TrainError(f"weights {training.weights} have neither an mlm nor a sop head, so there is no loss")
        return Albert(config, model.params, **compute)

    def config_of(self, found, where):
        check_sizes(found, self.config, where)
        return self.config

    def gradient_of(self, workers, shares):
        def gradient_of(micro_batches, dropout, scale):
            slices, recompute = workers.slices_of(micro_batches), self.settings.training.recompute
            return gradient_over(shares, workers, slices, dropout, scale, recompute)

        return gradient_of

    def learning(self, params):
        return None

    def config_json(self, best):
        return {}

    def sentences(self):
        yield self.data.tested_on
        held_out = len(self.data.held_out.sop_labels)
        if held_out < FEW:
            yield f"only {held_out} held-out instances: their scores mean little; {self.more_of_them(held_out)}"

    def more_of_them(self, held_out):
        if held_out == self.settings.records.evaluate_instances:
            return f"evaluate_instances is {held_out}; a larger number gives more"
        if self.settings.data.held_out:
            return f"more text in {self.settings.data.held_out} gives more"
        return "more text or --held-out-share gives more"


def split_of(noted):
    """How documents were held out when the run began, as its newest readable checkpoint notes it, or None."""
    return Split.noted(noted.get(SPLIT)) if noted else None
