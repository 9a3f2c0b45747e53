"""Fine-tuning: the part of a run that pretraining does not share. `train/assemble.py` lists what such a job has.

    settings = TaskSettings().change(task="sst2", data="glue/SST-2", weights="runs/first")
    result = finetune(settings, "runs/sst2")         # the same call resumes where an earlier one was stopped
"""

import functools
import hashlib

import numpy as np

from ..albert import Albert
from ..arguments import of_kind
from ..data.order import batches, instances_at
from ..errors import ConfigError, DataError, FileError, TrainError
from ..parallel import ALONE
from ..split import check_split
from ..train.assemble import train_run
from ..train.trained import open_trained, tokenizer_file, tokenizer_of
from .dev_test import DevTest
from .gradient import TaskBatch, gradient_function
from .opening import open_task
from .presets import preset_name, scaled
from .settings import TaskSettings
from .task import Examples

SAMPLE = 2**32                                       # the epoch whose order chooses a part of the examples


def finetune(settings, run, observer=None, from_step=None, own_code=None, ranks=ALONE):
    """Train until the last step, or until a signal asks to stop. Returns a RunResult. Arguments as of `train_run`."""
    of_kind("settings", settings, TaskSettings)
    return train_run(FineTuning, settings, run, observer, from_step, own_code, ranks)


class FineTuning:
    """The job of a fine-tuning: its task, examples, model, and the gradient of its loss."""

    noun, option = "examples", "--data"

    def __init__(self, settings, run=None, noted=None, ranks=ALONE):
        check_given(settings.task)
        self.ranks, self.trained, self.pooler_is_fresh = ranks, None, False
        self.tokenizer = (noted and kept_tokenizer(run)) or self.begun_with(settings).tokenizer
        width, positions = self.sizes(noted)
        settings = settings.fitted(positions)
        self.micro_batch_given = "micro_batch" in settings.all_given
        self.task = open_task(settings.task.task, settings.task.data, settings.task.max_length, **settings.task.columns)
        self.examples = chosen(self.task.examples("train", self.tokenizer), settings.task.train_examples,
                               settings.training.seed)
        self.dev = chosen(self.task.examples(self.task.dev, self.tokenizer), settings.task.dev_examples)
        self.preset = self.preset_name(settings.task.task, noted)
        self.settings = settings = settings.complete(len(self.examples.rows), width, self.preset)
        self.size, self.origin = len(self.examples), f" of {settings.task.data}"
        self.check_sizes()
        self.hashes = {"tokenizer": self.tokenizer.digest, "training data": digest(self.examples),
                       "dev data": digest(self.dev), "hidden size": str(width), "positions": str(positions)}
        if self.preset != self.task.name:
            self.hashes["preset"] = self.preset
        self.test = DevTest(self.task, self.dev, ranks)
        order = ExamplesInOrder(self.task, self.examples, settings.training.seed)
        self.batches = functools.partial(batches, order, settings.training.micro_batch, settings.slices,
                                         share=ranks.data_group.share(settings.slices))

    def sizes(self, noted):
        """(H, positions) of the model."""
        if noted:
            return int(noted["hidden size"]), int(noted["positions"])
        config = self.trained.model.config
        return config.hidden_size, config.max_position_embeddings

    def preset_name(self, task, noted):
        """As of `presets`; a run that has begun keeps its own."""
        return noted.get("preset", task) if noted else preset_name(task, self.trained.model.config)

    def check_sizes(self):
        """Raise ConfigError for settings that fit neither the model nor the data."""
        training = self.settings.training
        if self.trained:
            self.config_of(self.trained.model.config, training.weights)
        if training.micro_batch > self.size:
            name = "micro_batch" if self.micro_batch_given else "batch"
            raise ConfigError(f"{name} is {getattr(training, name)}; it must be at most {self.size}, as many as there "
                              "are examples to train on")

    def begun_with(self, settings):
        """The model that the settings name, read once."""
        if not settings.training.weights:
            raise ConfigError("no model is given; it must be a run, a checkpoint or a model: --model DIR")
        self.trained = self.trained or open_trained(settings.training.weights)
        return self.trained

    def fresh_model(self, compute):
        """The encoder, and its pooler if the head reads one, with a head of fresh weights."""
        model, training, objective = self.begun_with(self.settings).model, self.settings.training, self.task.objective()
        self.pooler_is_fresh = "pooler" in objective.heads and "pooler.b" not in model.params
        params = model.params.astype(training.dtype).to(training.device)
        encoder = Albert(self.config_of(model.config, training.weights), params).with_heads(
            [head for head in objective.heads if head == "pooler"], seed=training.seed)  # fmt: skip
        headed = encoder.with_heads(objective.heads, objective.outputs, training.seed)
        return Albert(headed.config, headed.params, **compute)

    def config_of(self, found, where):
        layers, recompute = found.num_hidden_layers, self.settings.training.recompute
        if recompute > layers:
            raise ConfigError(f"recompute is {recompute}; it must be from 0 to the {layers} layers of {where}")
        check_split(found, self.settings.training.model_ranks)
        dropout = self.settings.task.dropout
        return found.replace(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)

    def gradient_of(self, workers, shares):
        self.trained = None                          # whose weights nobody reads from here on
        return gradient_function(workers, self.task.objective(), self.settings.task.classifier_dropout,
                                 self.settings.training.recompute, shares, self.settings.task.frozen)

    def learning(self, params):
        """The names of the weights that learn; None: all. The pooler is one of the heads."""
        if not self.settings.task.frozen:
            return None
        return params.select(*(f"{head}." for head in self.task.objective().heads)).names

    def config_json(self, best):
        return self.task.config_json(best)

    @property
    def selection(self):
        return self.task.metrics[0], self.settings.records.stop_after

    def sentences(self):
        yield scaled(self.preset, len(self.examples.rows), int(self.hashes["hidden size"]), self.settings)
        for name, examples in (("train", self.examples), (self.task.dev, self.dev)):
            yield f"{name}: {described(examples)}"
        yield from label_sentences(self.task.label_counts(self.examples))
        heads = self.task.objective().heads
        if self.pooler_is_fresh:
            yield f"the weights of {self.settings.training.weights} have no pooler; it begins with fresh ones"
        if self.settings.task.frozen:
            yield f"the encoder is frozen: its weights stay as they are, and only those of {' and '.join(heads)} learn"


def check_given(section):
    for name, what in (("task", "a name, such as sst2: --task NAME"), ("data", "a directory: --data DIR")):
        if not getattr(section, name):
            raise ConfigError(f"no {name} is given; it must be {what}")


def described(examples):
    lost = {"cut to the length": examples.report.cut, "lines left out as broken": examples.report.broken,
            "questions whose answer is in no window": examples.report.unplaced}
    counts = [f"{len(examples.rows):,} examples"]
    if len(examples) != len(examples.rows):
        counts.append(f"{len(examples):,} windows")
    return ", ".join(counts + [f"{count:,} {what}" for what, count in lost.items() if count])


def label_sentences(counts):
    """Sentences: the count of each label in the training examples, and the labels that have only one."""
    if counts:
        yield f"labels: {listed([f'{name} {count:,}' for name, count in counts.items()])}"
    if once := [repr(name) for name, count in counts.items() if count == 1]:
        yield f"labels that are there only once, and may be misspelt: {listed(once)}"


def listed(names, most=12):
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def kept_tokenizer(run):
    """The tokenizer that lies in a run, or None if it cannot be read."""
    try:
        return tokenizer_of(tokenizer_file(run))
    except (DataError, FileError, TrainError):
        return None


def chosen(examples, count, seed=None):
    """The first `count` rows of a split or, with a seed, a sample of as many; all if count is 0."""
    if not 0 < count < len(examples.rows):
        return examples
    places = range(count)
    if seed is not None:
        places = sorted(instances_at(np.arange(count), len(examples.rows), seed, SAMPLE))
    rows = [examples.rows[place] for place in places]
    ids = {row.id for row in rows}
    return Examples([item for item in examples if item.id in ids], rows)


def digest(examples):
    """A short text that changes with the examples and their labels."""
    found = hashlib.sha256()
    for item in examples:
        for sequence in item.sequences:
            found.update(np.array([*sequence.input_ids, -1, *sequence.token_type_ids, -2], np.int32).tobytes())
        label = item.label
        found.update(repr((label.span, label.impossible) if hasattr(label, "span") else label).encode())
    return f"{found.hexdigest()[:12]}, {len(examples.rows):,} examples"


class ExamplesInOrder:
    """The training examples as `data.order.batches` asks for them: each epoch's order depends on seed and epoch."""

    def __init__(self, task, examples, seed):
        self.task, self.examples, self.seed = task, examples, seed

    def __len__(self):
        return len(self.examples)

    def micro_batches(self, size, epoch, numbers):
        """The batches of these numbers in an epoch's order."""
        for number in numbers:
            places = np.arange(size * number, size * (number + 1))
            examples = instances_at(places, len(self), self.seed, epoch)
            inputs, labels = self.task.batch([self.examples[place] for place in examples])
            yield TaskBatch(*inputs, labels)
