"""The labels of the tasks of tiny worlds are right: found again from the texts alone."""

from collections import Counter

import pytest
from tiny_tasks import made, sentences_of

from minalbert.data.tiny_worlds import lexicon
from minalbert.data.tiny_worlds.grammar import ACTOR, HELPER, SAY, THING
from minalbert.data.tiny_worlds.scripts import BY_KIND, SCRIPTS


def steps_of(sentence, script):
    """The numbers of the steps that the sentence can be."""
    text = f" {sentence} "

    def fits(kind, value):
        if kind in (ACTOR, HELPER):
            return True
        phrases = (value,) if kind == SAY else (*script.things[value], "it") if kind == THING else value
        return any(f" {phrase} " in text for phrase in phrases)

    return [i for i, parts in enumerate(script.steps) if all(fits(kind, value) for kind, value in parts)]


def follow_each_other(texts):
    """Is there a ring in which each sentence is the step after the one before?"""
    for script in BY_KIND["ring"]:
        reached = steps_of(texts[0], script)
        for text in texts[1:]:
            after = {(step + 1) % len(script.steps) for step in reached}
            reached = [step for step in steps_of(text, script) if step in after]
        if reached:
            return True
    return False


def test_order_is_decidable_and_right():
    for first, second, label in (example.fields for example in made("order", "train", 200)):
        shown, swapped = sentences_of(first + " " + second), sentences_of(second + " " + first)
        assert follow_each_other(shown) == (label == "in_order")
        assert follow_each_other(swapped) == (label == "swapped")


def test_permutation_is_right():
    for first, others, label in (example.fields for example in made("permutation", "train", 100)):
        shown = [first, *sentences_of(others)]
        assert follow_each_other([shown[label.index(letter)] for letter in "abc"])
        assert label == "abc" or not follow_each_other(shown)


def test_topic_is_right():
    for text, label in (example.fields for example in made("topic", "train", 400)):
        script = next(script for script in SCRIPTS if script.schema.name == label)
        assert all(steps_of(sentence, script) for sentence in sentences_of(text))


def test_before_is_right():
    for passage, hypothesis, label in (example.fields for example in made("before", "train", 400)):
        events = hypothesis.removesuffix(" .").split(" before ")
        if len(events) > 2:  # a sliver is glimpsed before dawn
            continue
        places = [sentences_of(passage).index(event + " .") if event + " ." in sentences_of(passage) else None
                  for event in events]  # fmt: skip
        if None in places:
            assert (label, places.count(None)) == ("neutral", 1)
        else:
            assert label == ("entailment" if places[0] < places[1] else "contradiction")


@pytest.mark.parametrize("hops", range(1, 7))
def test_who_has_it_is_found_by_following_it_so_often(hops):
    for context, question, answer in (example.fields for example in made(f"spans{hops}", "train", 100)):
        kept = question.removeprefix("someone kept the ").removesuffix(" .")
        holder, steps = None, 0
        for sentence in sentences_of(context):
            giver, verb, *rest = sentence.split()[:-1]
            if verb == "saw":
                continue
            if kept in rest:
                holder, steps = rest[-1], 1
            elif rest[0] == "it" and giver == holder:
                holder, steps = rest[-1], steps + 1
        assert (holder, steps) == ((answer, hops) if answer else (None, 0))


def test_next_event_is_right():
    for level, article, options, letter in (example.fields for example in made("next", "train", 96)):
        told = sentences_of(article)
        continues = [follow_each_other([*told, option]) for option in options]
        assert continues == [choice == letter for choice in "ABCD"]
        assert len({option.split().count(name) for option in options for name in [actor(told)]}) == 1
        ring = next(script for script in BY_KIND["ring"] if steps_of(told[0], script) and steps_of(told[1], script)
                    and steps_of(options["ABCD".index(letter)], script))  # fmt: skip
        same = sum(bool(steps_of(option, ring)) for option in options)
        assert same == 4 if level == "high" else same < 4


def actor(sentences):
    people = {name.lower() for name in (*lexicon.WOMEN, *lexicon.MEN)}
    return next(word for word in sentences[0].split() if word in people)


def test_minimal_pairs_differ_in_one_place():
    kinds = Counter()
    women = {name.lower() for name in lexicon.WOMEN}
    for phenomenon, *pair, which in (example.fields for example in made("grammar", "train", 480)):
        right, wrong = (text.split() for text in (pair if which == "first" else pair[::-1]))
        differ = [i for i, (a, b) in enumerate(zip(right, wrong, strict=True)) if a != b]
        kinds[phenomenon, right[differ[0]], wrong[differ[0]]] += 1
        if phenomenon == "order":
            i, j = differ
            assert (j, right[i], sorted(right)) == (i + 1, "the", sorted(wrong))
            continue
        assert len(differ) == 1
        place, word = differ[0], right[differ[0]]
        if phenomenon == "article":
            assert (word == "an") == (right[place + 1][0] in "aeiou")
        if phenomenon == "gender":
            people = {w for w in right if w.capitalize() in (*lexicon.WOMEN, *lexicon.MEN)}
            assert len(people) == 1
            assert (word == "she") == (people <= women)
        if phenomenon == "case":  # the subject is right before the object
            pronouns = [w for w in right if w in ("she", "he", "her", "him")]
            assert pronouns in (["she", "him"], ["he", "her"])
            assert (word, wrong[place]) in (("she", "her"), ("he", "him"), ("her", "she"), ("him", "he"))
    assert Counter(kind for kind, *_ in kinds.elements()) == dict.fromkeys(("article", "gender", "case", "order"), 120)
    assert kinds["article", "a", "an"] == kinds["article", "an", "a"] == 60
    assert kinds["gender", "she", "he"] == kinds["gender", "he", "she"] == 60
