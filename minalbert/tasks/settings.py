"""Every setting of a fine-tuning, in sections: its own, [task], and those that it shares with pretraining.

    settings = TaskSettings().change(task="sst2", data="glue/SST-2", weights="runs/first")

What is not given is the preset's (presets.py); steps, rate and what depends on them wait for the data and the model.
"""

from dataclasses import dataclass

from ..errors import ConfigError
from ..train.run_settings import CHANGEABLE_TRAINING, SHARED, RecordSettings, RunSettings
from ..train.sections import Section, checked, setting
from .presets import defaults, preset_of

RECKONED = ("task", "batch", "steps", "evaluate_every")      # with which a preset computes the others
LISTS = ("texts", "labels", "range")                 # with a comma between two entries


@dataclass(frozen=True)
class TaskSection(Section):
    """The settings of the task itself."""

    task: str = setting("", "cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli, squad1, squad2, race, tokens, custom",
                        metavar="NAME")
    data: str = setting("", "the directory with the task's files, as they are distributed", metavar="DIR")
    max_length: int | None = setting(None, "tokens of a sequence, longer texts are cut; if none is given, the paper's, "
                                     "or as many as the model reads", 8, 2**20)
    dropout: float | None = setting(None, "of the encoder; if none is given, the preset's", 0.0, 0.99)
    frozen: bool = setting(False, "the encoder stays as it is, without dropout; its heads alone learn, and the pooler "
                           "is one of them")
    classifier_dropout: float = setting(0.1, "of the head's input", 0.0, 0.99)
    train_examples: int = setting(0, "examples to train on, the same for one seed; 0: all", 0)
    dev_examples: int = setting(0, "examples to test on, the first of the file; 0: all", 0)
    texts: str = setting("", "custom: the columns of the texts, with a comma between two", metavar="COLUMNS")
    label: str = setting("", "custom: the column of the label", metavar="COLUMN")
    labels: str = setting("", "custom, tokens: the labels in the order of their numbers, with commas", metavar="LABELS")
    kind: str | None = setting(None, "custom: is the label a name or a number?", choices=("label", "number"))
    range: str = setting("", "custom: the lowest and the highest number, with a comma", metavar="A,B")
    choices: int | None = setting(None, "race: options of a question", 2, 10)
    question_length: int | None = setting(None, "tokens of a question that are kept", 1)
    stride: int | None = setting(None, "squad1, squad2: tokens from one window of a context to the next", 1)

    @property
    def columns(self):
        """{name: value} of the settings that `open_task` needs for this task's files."""
        names = ("label", "kind", "choices", "question_length", "stride", *LISTS)
        given = {name: getattr(self, name) for name in names if getattr(self, name)}
        given |= {name: tuple(part.strip() for part in given[name].split(",")) for name in LISTS if name in given}
        if "range" in given:
            given["range"] = numbers(given["range"])
        return given


def numbers(parts):
    try:
        low, high = map(float, parts)
    except ValueError:
        raise ConfigError(f"range is {','.join(parts)!r}; it must be two numbers, such as 0,5") from None
    return low, high


@dataclass(frozen=True)
class TaskRecords(RecordSettings):
    """A run's records, and when to stop for lack of a better score."""

    stop_after: int = setting(0, "tests in a row without a better score that end the run; 0: all steps are made", 0)


@dataclass(frozen=True)
class TaskSettings(RunSettings):
    """All settings of a fine-tuning."""

    SECTIONS = {"task": TaskSection} | SHARED | {"records": TaskRecords}
    CHANGEABLE = {"task": ("data",), "training": CHANGEABLE_TRAINING}            # noqa: RUF012

    def check(self):
        super().check()
        for name, value in (("dropout", self.task.dropout), ("recompute", self.training.recompute)):
            if self.task.frozen and value:
                raise ConfigError(f"{name} is {value}, and a frozen encoder has neither dropout nor a backward pass; "
                                  f"give one of --{name} and --frozen")

    @property
    def all_given(self):
        """{setting: value} of all sections; those that a preset computes with are checked."""
        given = {setting: value for table in self.given.values() for setting, value in table.items()}
        fields = {name: self.SECTIONS[self.SECTION_OF[name]].__dataclass_fields__[name] for name in RECKONED}
        return given | {name: checked(field, given[name]) for name, field in fields.items() if name in given}

    def section(self, name):
        """A section, with the preset's values where none are given."""
        if name not in ("task", "training"):
            return super().section(name)
        given = self.all_given
        preset = defaults(given.get("task", ""), preset_of(given.get("task", "")).examples, 768, given)
        kind = self.SECTIONS[name]
        own = {setting: value for setting, value in preset.items() if setting in kind.__dataclass_fields__}
        return kind(**own | self.given_in(name))

    def fitted(self, positions):
        """These settings with a length that a model of so many positions reads."""
        length = self.task.max_length
        if length is None:
            return self.change(max_length=min(preset_of(self.task.task).max_length, positions))
        if length > positions:
            raise ConfigError(f"max_length is {length}; the model has positions for {positions} tokens")
        return self

    def complete(self, examples, hidden_size, preset=None):
        """These settings with all that is not given, for so many examples and a model of this width.

        preset: its name; None: the task's
        """
        return self.change(**defaults(preset or self.task.task, examples, hidden_size, self.all_given))
