"""One story: which script, which steps in which order, who and what is in it, and then its sentences.

First a plan is made, a list of events with their labels, and then its sentences. All random numbers come from one
generator for (seed, index). Only its `random()` is used, whose values are the same in every version of Python.
"""

from random import Random
from typing import NamedTuple

from .grammar import Writer
from .lexicon import ADVERBS, ANY_THING, CONNECTIVES, EARLY, GIVING, ITEMS, KEEPING, LATE, MEN, WOMEN, indefinite
from .scripts import BY_KIND, FILLERS

SHORTEST, LONGEST = 8, 20                            # sentences in a story

STEP, FILLER, CONDITION, CHAIN = range(4)


class Story(NamedTuple):
    index: int
    sentences: list                                  # of str
    schema: str
    topic: int                                       # the schema's number
    kind: str                                        # "line" or "ring"
    steps: list                                      # for each sentence its step, None for any other sentence
    episodes: list                                   # for each sentence 0, or 1 in a second episode
    holders: list                                    # in a handover chain the owner of the item then, else None
    item: str | None                                 # what is handed over
    branch: bool                                     # a condition has swapped two blocks
    ordered: bool                                    # the steps come in the script's order
    people: list                                     # for each episode (actor, helper)
    things: list                                     # for each episode {thing: its noun}

    def __str__(self):
        """The sentences, each with its step, below what is known of the story."""
        order = "in order" if self.ordered else "shuffled"
        turned = ", two blocks swapped" if self.branch else ""
        lines = [f"story {self.index}: {self.schema} (topic {self.topic}), a {self.kind}, {order}{turned}"]
        for (actor, helper), things in zip(self.people, self.things, strict=True):
            lines.append(f"  {actor} with {helper}; " + ", ".join(f"{name}: {noun}" for name, noun in things.items()))
        lines += ["", "step  sentence"]
        for text, step, holder in zip(self.sentences, self.steps, self.holders, strict=True):
            has = f"   [{holder} has the {self.item}]" if holder else ""
            lines.append(f"{'' if step is None else step:>4}  {text}{has}")
        return "\n".join(lines)


def make_story(world, index):
    random = Random(f"{world.seed}/{index}").random
    rings = random() < world.ring_fraction
    script = pick(random, BY_KIND["ring" if rings else "line"])
    ordered = random() < world.order_strength
    branch = ordered and random() < world.p_branch
    twice = not branch and random() < world.p_long
    chain = not twice and random() < world.p_handover

    plan = []
    for episode in range(1 + twice):
        steps = steps_in_order(random, script, branch, short=twice)
        if not ordered:
            shuffle(random, steps)
        plan += events(random, world, steps, branch, ordered, episode)
    hops = (world.hops or 1 + int(random() * 6)) if chain else 0
    first = 3 if branch else 0                       # the condition stays among the first three
    fit(random, plan, first, LONGEST - hops - chain)
    if chain:
        plan.insert(first + int(random() * (len(plan) + 1 - first)), (CHAIN, hops, 0))
    return write_sentences(world, random, index, script, plan, branch, ordered)


def steps_in_order(random, script, branch, short):
    schema, count = script.schema, len(script.steps)
    if schema.kind == "ring":
        phase, length = int(random() * count), 6 + int(random() * (1 if short else count - 8))
        steps = [(phase + i) % count for i in range(length)]
        if branch:
            middle = 2 + (length - 1) // 2
            steps = steps[:2] + steps[middle:] + steps[2:middle]
        return steps
    order = list(range(count))
    for i in schema.either:
        if random() < 0.5:
            order[i], order[i + 1] = order[i + 1], order[i]
    if branch:
        start, middle, stop = schema.blocks
        order[start:stop] = order[middle:stop] + order[start:middle]
        first, last = int(random() * (start - 1)), stop + int(random() * (count + 1 - stop))
        return order[first:max(last, first + 6)]
    length = 6 + int(random() * (1 if short else count - 5))
    first = int(random() * (count - length + 1))
    return order[first:first + length]


def events(random, world, steps, branch, ordered, episode):
    """(kind of event, step, episode) of each sentence."""
    plan = []
    for step in steps:
        plan.append((STEP, step, episode))
        while random() < world.p_fill:
            plan.append((FILLER, None, episode))
    early, late = int(random() * 3), len(plan) - int(random() * 3)
    if branch:                                       # early, before the blocks that it swaps
        plan.insert(early, (CONDITION, None, episode))
    elif random() * (1 - world.p_branch) < world.p_branch:    # as often late, when nothing is left to swap
        plan.insert(late if ordered or random() < 0.5 else early, (CONDITION, None, episode))
    return plan


def fit(random, plan, first, longest):
    """Add or remove fillers until the story has its length."""
    while len(plan) < SHORTEST:
        plan.insert(first + int(random() * (len(plan) + 1 - first)), (FILLER, None, 0))
    while len(plan) > longest:
        fillers = [i for i, event in enumerate(plan) if event[0] == FILLER]
        del plan[pick(random, fillers) if fillers else -1]


def write_sentences(world, random, index, script, plan, branch, ordered):
    """The story of a plan."""
    schema = script.schema
    story = Story(index, [], schema.name, script.topic, schema.kind, [], [], [], None, branch, ordered, [], [])
    place = pick(random, script.places)
    writer = None
    for number, (what, step, episode) in enumerate(plan):
        if episode == len(story.people):
            writer = cast(world, random, script, story)
        if what == CHAIN:
            story = handover(world, random, writer, story, step)
            continue
        if what == STEP:
            text = writer.sentence(script.steps[step], opening(world, random, writer, place, number / len(plan)))
        else:
            text = writer.sentence(script.condition if what == CONDITION else pick(random, FILLERS))
        story.sentences.append(text)
        story.steps.append(step)
        story.episodes.append(episode)
        story.holders.append(None)
    return story


def cast(world, random, script, story):
    """Choose the actor, the helper and the noun of each thing, once for an episode."""
    used = {name for pair in story.people for name in pair}
    if random() < 0.5:
        (women, men), pronouns = (0, 1), ("she", "he", "him")
    else:
        (women, men), pronouns = (1, 0), ("he", "she", "her")
    names = (another(random, WOMEN, used), another(random, MEN, used))
    actor, helper = names[women], names[men]
    things = {name: pick(random, nouns) for name, nouns in script.things.items()}
    if world.topic_strength < 1:
        things = {name: noun if random() < world.topic_strength else pick(random, ANY_THING)
                  for name, noun in things.items()}  # fmt: skip
    story.people.append((actor, helper))
    story.things.append(things)
    return Writer(world, random, (actor, world.surname(random)), (helper, world.surname(random)), pronouns, things)


def opening(world, random, writer, place, progress):
    """The words before the verb: a connective or a place, the subject, an adverb.

    progress: from 0 at the story's first sentence to 1 at its end."""
    words = []
    if world.p_true_conn and random() < world.p_true_conn and not 1 / 3 <= progress < 2 / 3:
        words.append(pick(random, EARLY if progress < 1 / 3 else LATE))
    elif random() < world.p_conn:
        words.append(pick(random, CONNECTIVES))
    elif random() < world.p_place:
        words.append(place)
    words.append(writer.subject())
    if random() < world.p_adverb:
        words.append(pick(random, ADVERBS))
    return " ".join(words)


def handover(world, random, writer, story, hops):
    """X gave a kettle to Y. Y passed it to Z. Z kept the kettle: to know the owner, one follows so many hops."""
    item = pick(random, ITEMS)
    giver, used = writer.actor[0], set(story.people[0])
    texts, holders = [], []
    for hop in range(hops):
        taker = another(random, pick(random, (WOMEN, MEN)), used)
        used.add(taker)
        named = ("the " + item,) if not world.entity_cues else ("it", "the " + item) if hop else (indefinite(item),)
        texts.append(f"{giver} {pick(random, GIVING)} {pick(random, named)} to {taker}.")
        holders.append(taker)
        giver = taker
    texts.append(f"{giver} {KEEPING} the {item}.")
    story.sentences.extend(texts)
    story.steps.extend([None] * len(texts))
    story.episodes.extend([0] * len(texts))
    story.holders.extend([*holders, giver])
    writer.forget_pronouns()
    return story._replace(item=item)


def pick(random, options):
    return options[int(random() * len(options))]


def another(random, names, used):
    name = pick(random, names)
    while name in used:
        name = pick(random, names)
    return name


def shuffle(random, items):
    for i in range(len(items) - 1, 0, -1):
        j = int(random() * (i + 1))
        items[i], items[j] = items[j], items[i]
