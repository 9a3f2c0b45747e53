"""Minimal pairs: a sentence as tiny worlds have it, and one with a mistake. A model should prefer the first.

    article    emil bought an easel .  / emil bought a easel .
    gender     ada rowed past the buoy . she felt the rod jerk .  / ... he felt the rod jerk .
    case       she rested on a bench beside him .  / her rested on a bench beside him .
    order      karl swept the porch with a mop .  / karl swept porch the with a mop .

Both have the same number of words, and what is right in half of the pairs is the mistake in the other half: a for an
and an for a, she for he and he for she. All verbs are in the past, so that they agree with anybody.
"""

from . import TinyWorlds
from .grammar import HELPER
from .lexicon import WOMEN
from .scripts import SCRIPTS
from .step_tasks import NATURAL, TinyExample, successive, told
from .stories import pick

ALWAYS_PRONOUNS = TinyWorlds(p_pron=1.0)
WHICH = ("first", "second")                          # the sentence without a mistake
ARTICLES, SUBJECTS, OBJECTS = ("a", "an"), ("she", "he"), ("her", "him")


def minimal_pair(random, wanted):
    """wanted: (phenomenon, the number of the way in which it is wrong, which sentence is right)."""
    phenomenon, way, which = wanted
    while (pair := PHENOMENA[phenomenon](random, way)) is None:
        pass
    right, wrong = map(" ".join, pair)
    shown = (right, wrong) if which == "first" else (wrong, right)
    return TinyExample(right, (phenomenon, *shown, which))


def article(random, way):
    """way 0: a is right, 1: an is right."""
    script = pick(random, SCRIPTS)
    _, (sentence,) = told(NATURAL, random, script, successive(random, script, 1))
    return replaced(random, sentence.split(), ARTICLES[way], ARTICLES[1 - way])


def gender(random, way):
    """way 0: she is right, 1: he is right. The helper, who could be meant as well, is in neither sentence."""
    script = pick(random, SCRIPTS)
    steps = successive(random, script, 2)
    if any(has_helper(script, step) for step in steps):
        return None
    _, sentences = told(ALWAYS_PRONOUNS, random, script, steps)
    return replaced(random, " ".join(sentences).split(), SUBJECTS[way], SUBJECTS[1 - way])


def case(random, way):
    """way 0: the subject is wrong, 1: the object is."""
    script = pick(random, SCRIPTS)
    steps = successive(random, script, 1)
    if not has_helper(script, *steps):
        return None
    story, (sentence,) = told(NATURAL, random, script, steps)
    actor, helper = story.people[0]
    man = int(actor not in WOMEN)                    # the helper is of the other gender
    names = {actor.lower(): SUBJECTS[man], helper.lower(): OBJECTS[1 - man]}
    words = [names.get(word, word) for word in sentence.split()]
    who, cases = (man, (SUBJECTS, OBJECTS)) if way == 0 else (1 - man, (OBJECTS, SUBJECTS))
    return replaced(random, words, *(pronouns[who] for pronouns in cases))


def word_order(random, way):
    """An article after the next word, but not at the end of a sentence. There is only one way."""
    script = pick(random, SCRIPTS)
    _, (sentence,) = told(NATURAL, random, script, successive(random, script, 1))
    words = sentence.split()
    places = [i for i, word in enumerate(words) if word == "the" and words[i + 2] != "."]
    if not places:
        return None
    i = pick(random, places)
    return words, [*words[:i], words[i + 1], words[i], *words[i + 2:]]


PHENOMENA = {"article": article, "gender": gender, "case": case, "order": word_order}


def has_helper(script, step):
    return any(kind == HELPER for kind, _ in script.steps[step])


def replaced(random, words, right, wrong):
    """The words, and the words with one of those that are right replaced; None if there is none."""
    places = [i for i, word in enumerate(words) if word == right]
    if not places:
        return None
    i = pick(random, places)
    return words, [*words[:i], wrong, *words[i + 1:]]
