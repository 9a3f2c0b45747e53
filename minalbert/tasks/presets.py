"""The default settings of a fine-tuning: Table 14 of the paper, scaled to the model and to the data.

    batch     the paper's; of fewer examples than that, the largest power of 2 that they make
    steps     in proportion to the examples: as many times through them as in the paper
    warmup    the same share of the steps
    rate      the paper's for H of 768 and more; 768 / H times that below

Table 14 is about 12 layers of 4,096. 768 / H is a rule of thumb for smaller models, which bear larger rates; no
measurement here stands behind it. --rates tries others.

RACE has a second preset. The authors give a lower rate and no dropout for version 2 of ALBERT, with which Table 14's
settings diverge. It is for models of H of 768 and more that were trained without dropout: version 2 and v1's xxlarge.
"""

from typing import NamedTuple

WIDEST_SCALED = 768


class Preset(NamedTuple):
    """A row of Table 14, and the number of examples that its steps are for."""

    rate: float
    batch: int                                       # examples; of RACE questions, each of several sequences
    dropout: float                                   # of the encoder; its head has 0.1
    steps: int
    warmup: int
    examples: int                                    # of the data that the steps are for
    max_length: int = 512                            # at most; a batch is as long as its longest text


TABLE_14 = {
    "cola": Preset(1e-5, 16, 0.0, 5336, 320, 8551),
    "stsb": Preset(2e-5, 16, 0.0, 3598, 214, 5749),
    "sst2": Preset(1e-5, 32, 0.0, 20935, 1256, 67349),
    "mnli": Preset(3e-5, 128, 0.0, 10000, 1000, 392702),
    "qnli": Preset(1e-5, 32, 0.0, 33112, 1986, 104743),
    "qqp": Preset(5e-5, 128, 0.1, 14000, 1000, 363849),
    "rte": Preset(3e-5, 32, 0.1, 800, 200, 2490),
    "mrpc": Preset(2e-5, 32, 0.0, 800, 200, 3668),
    "wnli": Preset(2e-5, 16, 0.1, 2000, 250, 635),
    "squad1": Preset(5e-5, 48, 0.0, 3649, 365, 87599, 384),
    "squad2": Preset(3e-5, 48, 0.0, 8144, 814, 130319),
    "race": Preset(2e-5, 32, 0.1, 12000, 1000, 87866),
}
OF_VERSION_2 = {"race-v2": TABLE_14["race"]._replace(rate=1e-5, dropout=0.0)}
OTHERS = Preset(3e-5, 32, 0.0, 1000, 100, 3200)      # ten times through the examples


def preset_of(name):
    return (TABLE_14 | OF_VERSION_2).get(name, OTHERS)


def preset_name(task, config):
    """The name of the preset for a task and a model's config: the task's, or that for version 2."""
    for_version_2 = f"{task}-v2" in OF_VERSION_2 and config.hidden_size >= WIDEST_SCALED
    return f"{task}-v2" if for_version_2 and config.hidden_dropout_prob == 0 else task


def defaults(name, examples, hidden_size, given):
    """{setting: value} for a task with so many examples and a model of this width, of those that are not given."""
    preset = preset_of(name)
    batch = given["batch"] if "batch" in given else batch_for(preset, examples, given)
    passes = preset.steps * preset.batch / preset.examples
    steps = given.get("steps", max(1, round(passes * examples / batch)))
    test_every = given.get("evaluate_every", max(1, steps // 10))
    found = {
        "batch": batch, "micro_batch": micro_batch_for(batch, examples),
        "dropout": 0.0 if given.get("frozen") else preset.dropout,
        "rate": float(f"{preset.rate * max(1, WIDEST_SCALED / hidden_size):.2g}"), "steps": steps,
        "warmup": round(steps * preset.warmup / preset.steps), "evaluate_every": test_every, "every": test_every,
    }  # fmt: skip
    if given.get("optimiser") == "lamb":
        del found["rate"]                            # which is AdamW's
    return {setting: value for setting, value in found.items() if setting not in given}


def batch_for(preset, examples, given):
    """The preset's batch, or a smaller one for fewer examples; a given micro_batch is part of the preset's."""
    fits = preset.batch <= examples or "micro_batch" in given
    return preset.batch if fits else 2 ** (examples.bit_length() - 1)


def micro_batch_for(batch, examples):
    """Half of the batch; less of it where there are fewer examples."""
    size = batch // 2 if batch % 2 == 0 else batch
    while size > examples and size % 2 == 0:
        size //= 2
    return size


def scaled(name, examples, hidden_size, settings):
    """One sentence about where settings are from that were not given; it names those that were scaled."""
    preset = defaults(name, examples, hidden_size, {"batch": settings.training.batch})
    known = "the settings for version 2" if name in OF_VERSION_2 else "Table 14's settings"
    parts = [known if name in TABLE_14 | OF_VERSION_2 else "settings as of Table 14", "where no others are given"]
    if settings.training.batch == defaults(name, examples, hidden_size, {})["batch"] < preset_of(name).batch:
        parts.append(f"with a batch of {settings.training.batch} for so few examples")
    if settings.training.steps == preset["steps"]:
        parts.append("with steps for as many examples as there are")
    if hidden_size < WIDEST_SCALED and settings.optimiser.rate == preset["rate"]:
        parts.append(f"with {WIDEST_SCALED}/{hidden_size} of the rate")
    return " ".join(parts[:2]) + "".join(f", {part}" for part in parts[2:])
