"""The fields of Recipe as options of a command."""

from ..data.recipe import CHOICES, HABITS, HELP, Recipe
from .options import add_fields, given_fields

DEFAULTS = dict.fromkeys(HABITS, "no, with --policy released yes")


def add_recipe_arguments(parser, defaults={}):  # noqa: B006
    group = parser.add_argument_group("recipe", "how instances are made of the corpus; the default is the paper's way")
    add_fields(group, Recipe, HELP, CHOICES, DEFAULTS | defaults)


def recipe_of(options):
    changes = given_fields(options, Recipe)
    return Recipe.released(**changes) if options.policy == "released" else Recipe(**changes)
