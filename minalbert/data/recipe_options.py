"""The fields of Recipe as options of a command, and what each means."""

from ..options import add_fields, given_fields
from .recipe import CHOICES, HABITS, Recipe

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
SAID = dict.fromkeys(HABITS, "no, with --policy released yes")


def add_recipe_arguments(parser, said={}):  # noqa: B006
    group = parser.add_argument_group("recipe", "how instances are made of the corpus; the default is the paper's way")
    add_fields(group, Recipe, HELP, CHOICES, SAID | said)


def recipe_of(options):
    changes = given_fields(options, Recipe)
    return Recipe.released(**changes) if options.policy == "released" else Recipe(**changes)
