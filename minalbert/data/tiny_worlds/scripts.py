"""The sixteen scripts of the stories, parsed once, and all of their words."""

from functools import cache
from typing import NamedTuple

from . import lexicon
from .grammar import parse, words_of
from .lines import LINES
from .rings import RINGS
from .schemas import Schema

SCHEMAS = LINES + RINGS                              # a story's topic is the number of its schema in this tuple


class Script(NamedTuple):
    topic: int
    schema: Schema
    steps: tuple                                     # parsed
    condition: tuple                                 # parsed
    places: tuple
    things: dict                                     # name -> nouns


def _script(topic, schema):
    return Script(
        topic, schema, tuple(map(parse, schema.step_texts())), parse(schema.condition),
        schema.place_texts(), {name: tuple(nouns.split("|")) for name, nouns in schema.things.items()},
    )  # fmt: skip


SCRIPTS = tuple(_script(topic, schema) for topic, schema in enumerate(SCHEMAS))
BY_KIND = {kind: tuple(script for script in SCRIPTS if script.schema.kind == kind) for kind in ("line", "ring")}
FILLERS = tuple(map(parse, lexicon.FILLERS))

CONNECTIVE_WORDS = tuple(dict.fromkeys(word for phrase in lexicon.CONNECTIVES for word in phrase.split()))
GRAMMAR_WORDS = (".", "the", "a", "an", "it", "he", "she", "him", "her", *lexicon.GIVING, "to", lexicon.KEEPING)


@cache
def base_words():
    """Lower case, the full stop first; always in the same order."""
    words = [*GRAMMAR_WORDS, *lexicon.WOMEN, *lexicon.MEN, *lexicon.ADVERBS, *lexicon.ADJECTIVES]
    words += [*lexicon.ITEMS, *lexicon.ANY_THING, *lexicon.ANY_THINGS]
    for phrase in (*lexicon.CONNECTIVES, *lexicon.EARLY, *lexicon.LATE):
        words += phrase.split()
    for script in SCRIPTS:
        for parts in (*script.steps, script.condition):
            words += words_of(parts)
        for phrases in (script.places, *script.things.values()):
            words += [word for phrase in phrases for word in phrase.split()]
    for parts in FILLERS:
        words += words_of(parts)
    return tuple(dict.fromkeys(word.lower() for word in words))


def words_of_sentence(sentence):
    """The sentence for a word tokenizer, in lower case and with spaces between words: ada took a bowl ."""
    return sentence[:-1].lower() + " ."
