"""The fields of Recipe as options of a command: --max-length 128, --policy released, --no-favor-shorter ..."""

import argparse
import dataclasses

from .recipe import CHOICES, Recipe

HELP = {
    "max_length": "tokens of an instance",
    "max_predictions": "tokens to predict, at most",
    "mask_fraction": "share of the tokens to predict",
    "max_ngram": "words masked together, at most",
    "favor_shorter": "a span of n words with p ~ 1/n",
    "pairs": "what the second segment is about",
    "policy": "'released': as the released script does, with all its settings",
    "nsp_negatives": "where a segment that is not the next comes from",
    "short_fraction": "share of instances that are made shorter",
    "truncate": "which end of a segment is cut",
    "special_replacements": "control tokens among the random replacements",
    "spans_cross_segments": "spans that go on over a [SEP]",
    "static_masks": "0: new masks each epoch; n: n different ones",
}


def add_recipe_arguments(parser):
    group = parser.add_argument_group("recipe", "how instances are made of the corpus; the default is the paper's way")
    for field in dataclasses.fields(Recipe):
        switch = field.type in (bool, bool | None)
        how = {"action": argparse.BooleanOptionalAction} if switch else {
            "type": field.type, "choices": CHOICES.get(field.name), "metavar": None if field.name in CHOICES else "N",
        }  # fmt: skip
        said = field.default
        if switch:
            said = {True: "yes", False: "no", None: "no, with --policy released yes"}[said]
        text = f"{HELP.get(field.name, '')}; default: {said}".lstrip("; ")
        group.add_argument(f"--{field.name.replace('_', '-')}", dest=field.name, default=None, help=text, **how)


def recipe_of(options):
    names = [field.name for field in dataclasses.fields(Recipe)]
    changes = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return Recipe.released(**changes) if options.policy == "released" else Recipe(**changes)
