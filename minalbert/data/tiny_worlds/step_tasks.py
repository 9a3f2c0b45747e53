"""Tasks made of a script's steps: the topic, the order of passages, what came before, what comes next.

A task is a function of a source of random numbers and of what is wanted, such as the label. It returns a TinyExample.

All but the topic are built so that a text without the other one tells nothing. Two passages, three sentences and the
next event are from rings, where every step is as often first as last: exactly as often, for each label, because a few
starts more of one kind would be enough for a linear model to place the steps of that ring on a line. The passages about
before and after tell any steps in any order, so that the hypothesis alone has nothing to do with the label. Names and
`the` are used throughout, because a pronoun, or `a bowl`, would reveal what came first.
"""

from itertools import permutations
from typing import NamedTuple

from . import TinyWorlds
from .scripts import BY_KIND, SCRIPTS, words_of_sentence
from .stories import STEP, pick, shuffle, write_sentences

NATURAL = TinyWorlds()
WITHOUT_CUES = TinyWorlds(entity_cues=False)
SHORT = TinyWorlds(entity_cues=False, p_conn=0.0, p_place=0.0, p_adverb=0.0, p_adjective=0.0)
STARTS = tuple((script, first) for script in BY_KIND["ring"] for first in range(len(script.steps)))

TOPICS = tuple(script.schema.name for script in SCRIPTS)
ORDERS = ("in_order", "swapped")
PERMUTATIONS = tuple(map("".join, permutations("abc")))
ENTAILMENTS = ("entailment", "contradiction", "neutral")
LETTERS = "ABCD"


class TinyExample(NamedTuple):
    document: str                                    # the same for each question about it
    fields: tuple                                    # what is written, in the order of the file's columns


def told(world, random, script, steps):
    """A Story of these steps, one sentence each, and its sentences as a word tokenizer reads them."""
    story = write_sentences(world, random, 0, script, [(STEP, step, 0) for step in steps], False, True)
    return story, [words_of_sentence(text) for text in story.sentences]


def successive(random, script, count):
    """So many steps that follow each other: in a ring from any step on, in a line without an end to return from."""
    steps = len(script.steps)
    return after(script, int(random() * (steps if script.schema.kind == "ring" else steps - count + 1)), count)


def after(script, first, count):
    return [(first + i) % len(script.steps) for i in range(count)]


def draw(random, options, count):
    """So many different ones, in any order."""
    options = list(options)
    shuffle(random, options)
    return options[:count]


def evenly(random, options):
    """Endless: blocks that have each option once, in random order."""
    while True:
        yield from draw(random, options, len(options))


def with_starts(random, labels):
    """Endless (label, start): each start, a ring and a step of it, comes equally often with each label."""
    starts = {label: evenly(random, STARTS) for label in labels}
    for label in evenly(random, labels):
        yield label, next(starts[label])


def topic(random, label):
    """Three sentences: of which of the sixteen scripts?"""
    script = SCRIPTS[TOPICS.index(label)]
    _, sentences = told(NATURAL, random, script, successive(random, script, 3))
    text = " ".join(sentences)
    return TinyExample(text, (text, label))


def order(random, wanted):
    """Two passages, one or two sentences each, three at most: are they in order or swapped?"""
    label, (script, start) = wanted
    first, second = pick(random, ((1, 1), (1, 2), (2, 1)))
    _, sentences = told(WITHOUT_CUES, random, script, after(script, start, first + second))
    passages = [" ".join(sentences[:first]), " ".join(sentences[first:])]
    shown = passages if label == "in_order" else passages[::-1]
    return TinyExample(" ".join(sentences), (*shown, label))


def permutation(random, wanted):
    """Three sentences a, b, c, of which each follows the one before: in which order are they shown?"""
    label, (script, start) = wanted
    _, sentences = told(WITHOUT_CUES, random, script, after(script, start, 3))
    shown = [sentences["abc".index(letter)] for letter in label]
    return TinyExample(" ".join(sentences), (shown[0], " ".join(shown[1:]), label))


def before(random, label):
    """Does the passage tell that one event came before another? neutral: it does not tell one of the two."""
    script = pick(random, SCRIPTS)
    _, sentences = told(SHORT, random, script, draw(random, range(len(script.steps)), 4))
    passage, missing = sentences[:3], sentences[3]
    events = draw(random, range(3), 2)
    x, y = (passage[i] for i in sorted(events, reverse=label == "contradiction"))
    if label == "neutral":
        x, y = draw(random, (passage[events[0]], missing), 2)
    hypothesis = f"{x.removesuffix(' .')} before {y}"
    return TinyExample(" ".join(passage), (" ".join(passage), hypothesis, label))


def doer(random, label):
    """Two persons do one thing each. Did this person do that? neutral: the text does not tell that anybody did it."""
    script = pick(random, SCRIPTS)
    done, *others = draw(random, range(len(script.steps)), 3)
    plan = [(STEP, step, episode) for step, episode in zip((done, *others), (0, 1, 0), strict=True)]
    story = write_sentences(SHORT, random, 0, script, plan, False, True)
    first, second, untold = map(words_of_sentence, story.sentences)
    names = [first.split()[0], second.split()[0]]
    event = (untold if label == "neutral" else first).split(" ", 1)[1].removesuffix(" .")
    who = {"entailment": names[0], "contradiction": names[1]}.get(label) or pick(random, names)
    passage = " ".join(draw(random, (first, second), 2))
    return TinyExample(passage, (passage, f"{who} {event}", label))


def next_event(random, wanted):
    """Two sentences and four events: which comes next? wanted: ("middle" or "high", the right letter) and a start.

    In middle school the wrong events are from three other rings; in high school they are of the same one, so that
    only their order tells, and they may have been told already.
    """
    (level, letter), (script, start) = wanted
    steps = after(script, start, 3)
    if level == "high":
        wrong = draw(random, (step for step in range(len(script.steps)) if step != steps[2]), 3)
        story, sentences = told(WITHOUT_CUES, random, script, steps + wrong)
        options = sentences[2:]
    else:
        story, sentences = told(WITHOUT_CUES, random, script, steps)
        others = draw(random, (ring for ring in BY_KIND["ring"] if ring is not script), 3)
        options = [sentences[2]]
        options += [elsewhere(random, other, script.steps[steps[2]], story.people[0]) for other in others]
    right, *wrong = options
    wrong.insert(LETTERS.index(letter), right)
    article = " ".join(sentences[:2])
    return TinyExample(article, (level, article, tuple(wrong), letter))


def elsewhere(random, script, excluded, people):
    """A sentence of another script, which does not say the same as `excluded`, about these people."""
    steps = [number for number, parts in enumerate(script.steps) if parts != excluded]
    story, (sentence,) = told(WITHOUT_CUES, random, script, [pick(random, steps)])
    names = dict(zip(map(str.lower, story.people[0]), map(str.lower, people), strict=True))
    return " ".join(names.get(word, word) for word in sentence.split())
