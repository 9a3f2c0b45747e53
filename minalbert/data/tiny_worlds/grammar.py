"""From a step's pattern to a sentence: parse the pattern once, then write it in the state of one story.

A pattern is split into parts, each a kind and its words. The text of a part depends on the story so far:
the first mention of a thing is `a bowl`, the next `the bowl`, or `it` if the sentence before names it;
a person is a name at first, then a name or a pronoun.
"""

import re

from .lexicon import ANY_THING, ANY_THINGS, indefinite

SAY, ANY, NOUN, A_NOUN, BARE_NOUN, THING, HELPER, ACTOR = range(8)

TOKEN = re.compile(r"\(([^()]*)\)|<([^<>]*)>|\[(\w+)\]|\{(\w+)\}|([\w' ]+)")


def parse(pattern):
    parts, end = [], 0
    for token in TOKEN.finditer(pattern):
        if token.start() != end:
            break
        end = token.end()
        alternatives, nouns, thing, person, text = token.groups()
        if alternatives:
            parts.append((ANY, tuple(alternatives.split("|"))))
        elif nouns:
            parts.append(_noun(parts, tuple(nouns.split("|"))))
        elif thing:
            parts.append((THING, thing))
        elif person:
            parts.append({"helper": (HELPER, None), "actor": (ACTOR, None)}[person])
        elif text.strip():
            parts.append((SAY, text.strip()))
    if end != len(pattern):
        raise ValueError(f"the pattern {pattern!r} cannot be read from its character {end}")
    return tuple(parts)


def _noun(parts, nouns):
    """A noun and its article. `a` is removed, because the noun decides between a and an."""
    before = parts.pop()[1] if parts and parts[-1][0] == SAY else ""
    rest, _, article = before.rpartition(" ")
    if article not in ("a", "an"):
        rest = before
    if rest:
        parts.append((SAY, rest))
    return {"a": A_NOUN, "an": A_NOUN, "the": NOUN, "some": NOUN}.get(article, BARE_NOUN), nouns


def words_of(parts):
    """Every word that the parts can become, except for persons and things."""
    for kind, value in parts:
        for phrase in (value,) if kind == SAY else value if kind in (ANY, NOUN, A_NOUN, BARE_NOUN) else ():
            yield from phrase.split()


class Writer:
    """Writes the sentences of a story and keeps track of what they have mentioned. `world` holds the knobs."""

    def __init__(self, world, random, actor, helper, pronouns, things):
        self.world, self.random = world, random
        self.actor, self.helper = actor, helper              # (name, surname or "")
        self.pronouns = pronouns                             # she; he, him for the helper
        self.things = things                                 # name -> the noun of this story
        self.known = set()                                   # the things and persons mentioned
        self.before, self.here = None, None                  # the thing of the last sentence, and of this one

    def pick(self, options):
        return options[int(self.random() * len(options))]

    def sentence(self, parts, opening=""):
        """A whole sentence; it starts with the actor unless the pattern has its own subject."""
        random = self.random
        words = [opening] if opening else []
        self.before, self.here = self.here, None
        for kind, value in parts:
            if kind == SAY:
                words.append(value)
            elif kind == ANY:
                words.append(value[int(random() * len(value))])
            elif kind == NOUN:
                words.append(self.noun(value))
            elif kind == A_NOUN:
                words.append(indefinite(self.noun(value)))
            elif kind == BARE_NOUN:
                words.append(self.one_of(value, ANY_THINGS))
            elif kind == THING:
                words.append(self.thing(value))
            elif kind == ACTOR:
                words.append(self.subject())
            else:
                words.append(self.helper_as(0 if not words else 1))
        return finish(words)

    def one_of(self, nouns, instead):
        strength = self.world.topic_strength
        if strength < 1 and self.random() >= strength:
            nouns = instead
        return nouns[int(self.random() * len(nouns))]

    def noun(self, nouns):
        noun = self.one_of(nouns, ANY_THING)
        return self.world.adjective(self.random) + " " + noun if self.random() < self.world.p_adjective else noun

    def thing(self, name):
        noun = self.things[name]
        if not self.world.entity_cues:
            return "the " + noun
        first = name not in self.known
        again = name == self.before and self.here is None
        self.here = name
        if first:
            self.known.add(name)
            return indefinite(noun)
        return "it" if again and self.random() < self.world.p_pron else "the " + noun

    def subject(self):
        return self.person("actor", self.actor, self.pronouns[0])

    def helper_as(self, case):
        return self.person("helper", self.helper, self.pronouns[1 + case])

    def person(self, role, names, pronoun):
        name, surname = names
        if not self.world.entity_cues:
            return name
        if role not in self.known:
            self.known.add(role)
            return name + " " + surname if surname else name
        return pronoun if self.random() < self.world.p_pron else name

    def forget_pronouns(self):
        """After other persons, the next mention is by name, and `it` is not used for earlier things."""
        self.known -= {"actor", "helper"}
        self.here = None


def finish(words):
    text = " ".join(words)
    return text[0].upper() + text[1:] + "."
