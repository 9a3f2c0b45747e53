"""Who has it? Two items go from hand to hand, and the answer is a name in the text.

    ada gave a kettle to bela . fern lent a key to hugo . bela passed it to cora . emil saw the map . ...
    someone kept the kettle .

Only the first sentence of a chain names the item; both chains have the same number of hops and are told in turns at
random, so that who keeps the kettle is found only by following it from hand to hand. A question about what somebody
only saw, or about what is not in the text, has no answer. The text is made before anybody chooses what to ask, so that
neither the text alone nor the question alone tells whether there is an answer.

The question says `someone`, because `who` is no word of tiny worlds.

`short_spans` are the same in fewer words, so that two hops fit in the 32 tokens of a small model. Nobody sees a thing
without having it, and the question is `kept the kettle`.
"""

from functools import partial

from .lexicon import GIVING, ITEMS, KEEPING, MEN, WOMEN, indefinite
from .step_tasks import TinyExample, draw
from .stories import another, pick, shuffle

ASKED = (0, 0, 1, 1, 2, 3)                           # the items of both chains; what was seen; what is not in the text
ASKED_SHORT = (0, 0, 1, 1, 2)                        # the items of both chains; what is not in the text
MOST_HOPS, MOST_SHORT_HOPS = 6, 2


def who_has_it(hops, random, asked):
    items, used = draw(random, ITEMS, 4), set()
    sentences, ends = told_in_turns(hops, random, items, used)
    sentences.insert(int(random() * (len(sentences) + 1)), f"{person(random, used)} saw the {items[2]} .")
    return example(sentences, f"someone {KEEPING} the {items[asked]} .", ends, asked)


def who_has_it_in_short(hops, random, asked):
    items = draw(random, ITEMS, 3)
    sentences, ends = told_in_turns(hops, random, items, set())
    return example(sentences, f"{KEEPING} the {items[asked]}", ends, asked)


def told_in_turns(hops, random, items, used):
    """The sentences of two chains, and who has their items then."""
    chains = [chain(random, hops, item, used) for item in items[:2]]
    turns = [0, 1] * hops
    shuffle(random, turns)
    sentences = [iter(texts) for texts, _ in chains]
    return [next(sentences[turn]) for turn in turns], [holder for _, holder in chains]


def example(sentences, question, ends, asked):
    context = " ".join(sentences)
    return TinyExample(context, (context, question, ends[asked] if asked < len(ends) else None))


def chain(random, hops, item, used):
    """The sentences of so many hops, and who has the item then."""
    giver, thing, texts = person(random, used), indefinite(item), []
    for _ in range(hops):
        taker = person(random, used)
        texts.append(f"{giver} {pick(random, GIVING)} {thing} to {taker} .")
        giver, thing = taker, "it"
    return texts, giver


def person(random, used):
    """The name of somebody who is not in the text yet."""
    name = another(random, pick(random, (WOMEN, MEN)), used)
    used.add(name)
    return name.lower()


SPANS = {f"spans{hops}": partial(who_has_it, hops) for hops in range(1, MOST_HOPS + 1)}
SHORT_SPANS = {f"short_spans{hops}": partial(who_has_it_in_short, hops) for hops in range(1, MOST_SHORT_HOPS + 1)}
