"""Tiny worlds: the same stories everywhere, in sound English, with the signals they promise and no others."""

import dataclasses
import hashlib
import itertools
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from minalbert import commands
from minalbert.data import audit
from minalbert.data.tiny_worlds import CONNECTIVE_WORDS, SCHEMAS, TinyWorlds, lexicon, words_of_sentence
from minalbert.data.tiny_worlds.grammar import parse
from minalbert.errors import DataError

SPAN = 3  # sentences in a segment
PAIRS, TRAINED = 10_000, 5_000

# without what makes some pairs undecidable (branches, second episodes) or decidable by names alone (handovers)
PLAIN = {"p_branch": 0.0, "p_long": 0.0, "p_handover": 0.0}


# ---- the same everywhere


def digest(stories):
    return hashlib.sha256(repr(stories).encode()).hexdigest()


def test_a_story_is_the_same_in_any_process():
    worlds = [TinyWorlds(seed=3), TinyWorlds(seed=3, lexicon_scale=2.5, order_strength=0.5)]
    here = digest([world.story(index) for world in worlds for index in range(50)])
    code = (
        "from minalbert.data.tiny_worlds import TinyWorlds; import hashlib\n"
        "worlds = [TinyWorlds(seed=3), TinyWorlds(seed=3, lexicon_scale=2.5, order_strength=0.5)]\n"
        "stories = {(w, i): worlds[w].story(i) for w in (1, 0) for i in reversed(range(50))}\n"
        "print(hashlib.sha256(repr([stories[w, i] for w in (0, 1) for i in range(50)]).encode()).hexdigest())"
    )
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        there = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert there.stdout.strip() == here


def test_another_seed_or_index_is_another_story():
    worlds = [TinyWorlds(seed=seed) for seed in range(10)]
    stories = [world.story(index) for world in worlds for index in range(200)]
    assert len({" ".join(story.sentences) for story in stories}) == len(stories)


# ---- sound English


def stories(count=2000, **knobs):
    world = TinyWorlds(seed=7, **knobs)
    return [world.story(index) for index in range(count)]


ALL_KINDS = pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"lexicon_scale": 5.1, "p_adjective": 0.5},
        {"topic_strength": 0.3},
        {"order_strength": 0.0, "p_true_conn": 0.5},
    ],
    ids=["default", "large_lexicon", "weak_topic", "shuffled"],
)


@ALL_KINDS
def test_sentences_are_whole(knobs):
    for story in stories(**knobs):
        assert 8 <= len(story.sentences) <= 20
        labels = (story.steps, story.episodes, story.holders)
        assert {len(label) for label in labels} == {len(story.sentences)}
        for sentence in story.sentences:
            text = sentence[:-1]
            assert sentence[0].isupper()
            assert sentence[-1] == "."
            assert text.replace(" ", "").isalpha(), sentence
            assert text == " ".join(text.split()), sentence


@ALL_KINDS
def test_a_and_an(knobs):
    for story in stories(**knobs):
        for sentence in story.sentences:
            words = sentence[:-1].lower().split()
            assert words[-1] not in ("a", "an", "the"), sentence
            for article, word in itertools.pairwise(words):
                if article in ("a", "an"):
                    assert (article == "an") == (word[0] in "aeiou"), sentence  # no exception is in the vocabulary


def test_pronouns_agree_and_first_mentions_are_names():
    seen = Counter()
    for story in stories(3000):
        for episode, (actor, helper) in enumerate(story.people):
            women = {name for name in (actor, helper) if name in lexicon.WOMEN}
            men = {name for name in (actor, helper) if name in lexicon.MEN}
            assert len(women) == len(men) == 1
            named = set()
            for sentence, of, holder in zip(story.sentences, story.episodes, story.holders, strict=True):
                if of != episode or holder:
                    continue
                for word in sentence[:-1].split():
                    named |= {word} & {actor, helper}
                    seen[word.lower()] += 1
                    if word.lower() in ("she", "her"):
                        assert women <= named, story.sentences
                    if word.lower() in ("he", "him"):
                        assert men <= named, story.sentences
    assert min(seen[word] for word in ("she", "her", "he", "him", "it")) > 50


def test_a_thing_is_first_a_then_the():
    for story in stories(1000, p_handover=0.0):
        for episode, things in enumerate(story.things):
            for noun in set(things.values()):
                text = " ".join(s for s, of in zip(story.sentences, story.episodes, strict=True) if of == episode)
                if list(things.values()).count(noun) > 1 or "the " + noun not in text:
                    continue
                places = [text.find(f" {article} {noun}") for article in ("a", "an")]
                first = max(places)
                if noun not in spoken_elsewhere(story, things):
                    assert 0 <= first < text.find(f" the {noun}"), story.sentences


def spoken_elsewhere(story, things):
    """Nouns that the script also says without meaning the story's own thing."""
    schema = SCHEMAS[story.topic]
    return {noun for noun in things.values() if noun in " ".join(schema.step_texts()) + schema.condition}


def test_without_entity_cues_nothing_tells_what_was_named():
    for story in stories(1000, entity_cues=False, p_handover=1.0):
        things = {noun for episode in story.things for noun in episode.values()}
        for sentence, step in zip(story.sentences, story.steps, strict=True):
            words = sentence[:-1].lower().split()
            assert not {"she", "he", "her", "him"} & set(words)
            if step is not None:
                assert "it" not in words
        text = " ".join(story.sentences)
        own = things - spoken_elsewhere(story, {noun: noun for noun in things}) - {story.item}
        assert not any(f" {article} {noun} " in text for noun in own for article in ("a", "an"))


# ---- vocabulary


def test_vocabulary_sizes():
    base = TinyWorlds().words()
    assert 1300 <= len(base) <= 1600
    assert len(base) == len(set(base))
    largest = TinyWorlds(lexicon_scale=5.1).words()
    assert 7800 <= len(largest) <= 8050
    assert len(largest) == len(set(largest))
    assert largest[: len(base)] == base


@ALL_KINDS
def test_words_cover_every_story(knobs):
    known = set(TinyWorlds(**knobs).words())
    said = {word for story in stories(**knobs) for text in story.sentences for word in words_of_sentence(text).split()}
    assert said <= known
    if not knobs:  # and none is listed for nothing: what is missing is said only with other knobs
        missing = known - said - set(lexicon.ANY_THING) - set(lexicon.ANY_THINGS)
        assert len(missing) < 0.03 * len(known), missing


def test_large_lexicon_follows_zipf():
    world = TinyWorlds(lexicon_scale=5.1)
    random_source = random.Random(0).random
    counts = Counter(world.surname(random_source) for _ in range(50_000))
    ranked = [counts[name] for name in lexicon.surnames(8)]
    assert np.allclose(np.array(ranked) * np.arange(1, 9) / ranked[0], 1, atol=0.12)


# ---- the design


def test_sixteen_scripts_as_designed():
    assert Counter(schema.kind for schema in SCHEMAS) == {"line": 8, "ring": 8}
    assert len({schema.name for schema in SCHEMAS}) == 16
    shared = 0
    for schema in SCHEMAS:
        assert 10 <= len(schema.step_texts()) <= 12
        shared += schema.steps.count("= ")
        if schema.kind == "line":
            start, middle, stop = schema.blocks
            assert 2 <= start < middle < stop <= 12
            assert len(schema.either) == 2
    assert 0.15 <= shared / sum(len(schema.step_texts()) for schema in SCHEMAS) <= 0.25


def test_order_labels():
    turned = shuffled = 0
    for story in [*stories(2000), *stories(500, order_strength=0.0)]:
        schema = SCHEMAS[story.topic]
        shuffled += not story.ordered
        turned += story.branch
        for episode in range(len(story.people)):
            steps = [
                step for step, of in zip(story.steps, story.episodes, strict=True) if step is not None and of == episode
            ]
            assert len(set(steps)) == len(steps) >= 5
            rises = [(b - a) % 12 if schema.kind == "ring" else b - a for a, b in itertools.pairwise(steps)]
            if not story.ordered:
                continue
            if schema.kind == "ring":
                assert len(steps) <= 9
                assert rises.count(1) == len(rises) - 2 * story.branch
            elif not story.branch:
                assert all(
                    rise in (1, 2, 3) or (rise == -1 and step - 1 in schema.either)
                    for rise, step in zip(rises, steps[:-1], strict=True)
                )
    assert 0.09 < turned / 2000 < 0.15
    assert shuffled == 500


def test_branches_are_announced_early_and_only_true_ones():
    for story in stories(1000, p_branch=1.0):
        assert story.branch
        said = [i for i, text in enumerate(story.sentences) if is_condition(story, text)]
        assert len(said) == 1
        if not any(story.holders):
            assert said[0] < 3


def is_condition(story, text):
    possible = [value if kind else (value,) for kind, value in parse(SCHEMAS[story.topic].condition)]
    rest = text[:-1].lower()
    for phrases in possible:
        found = [phrase for phrase in phrases if (rest + " ").startswith(phrase + " ")]
        if not found:
            return False
        rest = rest[len(max(found, key=len)) :].strip()
    return not rest


@pytest.mark.parametrize("hops", [1, 3, 6])
def test_handover_chains(hops):
    for story in stories(200, p_handover=1.0, p_long=0.0, hops=hops):
        chain = [i for i, holder in enumerate(story.holders) if holder]
        assert chain == list(range(chain[0], chain[0] + hops + 1))
        giver = story.people[0][0]
        for i in chain[:-1]:
            assert story.sentences[i].startswith(giver + " ")
            assert story.sentences[i].endswith(f" to {story.holders[i]}.")
            giver = story.holders[i]
        assert story.sentences[chain[-1]] == f"{giver} kept the {story.item}."
        assert story.holders[chain[-1]] == giver


def test_weak_topic_says_fewer_of_the_scripts_nouns():
    def share(strength):
        said = Counter(
            word for story in stories(500, topic_strength=strength) for s in story.sentences for word in s[:-1].split()
        )
        anything = {*lexicon.ANY_THING, *lexicon.ANY_THINGS}
        return sum(said[word] for word in anything) / sum(said.values())

    assert share(1.0) < 0.02 < 0.08 < share(0.5) < share(0.0)


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        ({"ring_fraction": 1.5}, "ring_fraction is 1.5; it must be a number from 0 to 1"),
        ({"p_conn": "much"}, "p_conn is 'much'; it must be a number from 0 to 1"),
        ({"order_strength": float("nan")}, "order_strength is nan; it must be a number from 0 to 1"),
        ({"p_fill": 1.0}, "p_fill is 1.0; it must be a number from 0 to 0.9"),
        ({"lexicon_scale": 9}, "lexicon_scale is 9; it must be a number from 1 to 5.1"),
        ({"hops": 7}, "hops is 7; it must be a whole number from 1 to 6, or 0 for any of them"),
        ({"seed": 0.5}, "seed is 0.5; it must be a whole number, at least 0"),
        ({"entity_cues": 1}, "entity_cues is 1; it must be True or False"),
    ],
)
def test_bad_knobs(knobs, sentence):
    with pytest.raises(DataError) as error:
        TinyWorlds(**knobs)
    assert str(error.value) == sentence


def test_bad_index_and_frozen():
    world = TinyWorlds()
    with pytest.raises(DataError, match="index is -1"):
        world.story(-1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        world.seed = 1


def test_documents():
    world = TinyWorlds(seed=5)
    documents = list(world.documents(10, 13))
    assert [document.topic for document in documents] == [world.story(index).topic for index in range(10, 13)]
    for document, index in zip(documents, range(10, 13), strict=True):
        assert document.sentences == [text[:-1].lower() + " ." for text in world.story(index).sentences]


# ---- the signals, and no others


def segments_of(world, story, place, ids):
    texts = story.sentences[place : place + SPAN]
    return [ids[word] for text in texts for word in words_of_sentence(text).split()]


def ids_of(world):
    return {word: number for number, word in enumerate(world.words())}


def sop_pairs(world, seed, count=PAIRS, start=0):
    """Two neighbouring segments of each story, half of them swapped; and the stories."""
    draw, ids = random.Random(seed), ids_of(world)
    pairs, labels, told = [], [], []
    for index in range(start, start + count):
        story = world.story(index)
        place = draw.randrange(len(story.sentences) - 2 * SPAN + 1)
        a, b = (segments_of(world, story, place + shift, ids) for shift in (0, SPAN))
        label = draw.randrange(2)
        pairs.append((b, a) if label else (a, b))
        labels.append(label)
        told.append(story)
    return pairs, np.array(labels), told


def nsp_pairs(world, seed, negatives, count=TRAINED, start=50_000):
    """The next segment, or (label 1) a segment of a story of another topic, of any, or of the same."""
    draw, ids = random.Random(seed), ids_of(world)
    told = [world.story(index) for index in range(start, start + count)]
    fits = {
        "other_topic": lambda a, b: a.topic != b.topic,
        "uniform": lambda a, b: a is not b,
        "same_topic": lambda a, b: a.topic == b.topic and a is not b,
    }[negatives]
    pairs, labels = [], []
    for story in told:
        place = draw.randrange(len(story.sentences) - 2 * SPAN + 1)
        other, place_there, label = story, place + SPAN, draw.randrange(2)
        if label:
            while not fits(story, other):
                other = draw.choice(told)
            place_there = draw.randrange(len(other.sentences) - SPAN + 1)
        pairs.append((segments_of(world, story, place, ids), segments_of(world, other, place_there, ids)))
        labels.append(label)
    return pairs, np.array(labels)


def audited(seed, **knobs):
    world = TinyWorlds(seed=seed, **knobs)
    ids = ids_of(world)
    pairs, labels, _ = sop_pairs(world, seed)
    findings = audit.audit(
        pairs, labels, [ids[word] for word in CONNECTIVE_WORDS], world.words(), seed, test_fraction=0.5
    )
    return {finding.probe: finding.accuracy for finding in findings}, findings


SHORTCUTS = {"best single word": 0.55, "connectives only": 0.53, "length only": 0.53, "edges only": 0.53}


def assert_no_shortcut(accuracy):
    assert {probe: accuracy[probe] for probe, limit in SHORTCUTS.items() if accuracy[probe] > limit} == {}


def test_rings_tell_order_only_by_relations():
    accuracy, findings = audited(0, ring_fraction=1.0, **PLAIN)
    assert_no_shortcut(accuracy)
    assert not any(finding.leaks for finding in findings)
    assert accuracy["linear on words"] <= 0.55
    assert accuracy["bilinear A x B"] >= 0.95


def test_lines_tell_order_word_by_word():
    accuracy, _ = audited(0, ring_fraction=0.0, **PLAIN)
    assert_no_shortcut(accuracy)
    assert accuracy["linear on words"] >= 0.90
    assert accuracy["bilinear A x B"] >= 0.95


def test_shuffled_steps_tell_nothing():
    accuracy, _ = audited(0, order_strength=0.0)
    assert_no_shortcut(accuracy)
    assert max(accuracy["linear on words"], accuracy["bilinear A x B"]) <= 0.57


def test_the_default_corpus_has_no_shortcut_and_cannot_be_solved_whole():
    """Branches and second episodes make some pairs undecidable; handovers are decided by who had the item."""
    accuracy, findings = audited(0)
    assert_no_shortcut(accuracy)
    assert not any(finding.leaks for finding in findings)
    assert 0.88 <= accuracy["bilinear A x B"] <= 0.95


def test_true_connectives_are_a_shortcut():
    accuracy, findings = audited_with_true_connectives()
    assert accuracy["connectives only"] >= 0.65
    assert any(finding.leaks for finding in findings if finding.probe == "connectives only")


def audited_with_true_connectives():
    world = TinyWorlds(p_true_conn=0.5)
    ids = ids_of(world)
    pairs, labels, _ = sop_pairs(world, 0, count=4000)
    true = {word for phrase in lexicon.EARLY + lexicon.LATE for word in phrase.split()}
    findings = audit.audit(pairs, labels, [ids[word] for word in true], world.words())
    return {finding.probe: finding.accuracy for finding in findings}, findings


def test_next_sentence_prediction_learns_order_only_where_topics_collide():
    """With the probe's default weight decay, which was chosen with this limit in view. A weakly decayed probe, as
    good at NSP, does learn some order, since every true pair it sees runs forward: see the next test."""
    world = TinyWorlds(ring_fraction=1.0)
    pairs, labels, _ = sop_pairs(world, 1, count=3000)
    accuracy = {}
    for negatives in ("other_topic", "uniform", "same_topic"):
        train, answers = nsp_pairs(world, 2, negatives)
        vocabulary = audit.Vocabulary.of(train)
        model = audit.fit(*vocabulary.bags(train), answers, rank=32)
        accuracy[negatives] = (model.predict(*vocabulary.bags(pairs)) == labels).mean()
    assert accuracy["other_topic"] <= 0.55
    assert accuracy["uniform"] >= 0.62
    assert accuracy["same_topic"] >= 0.72


def test_a_weakly_decayed_probe_learns_some_order_from_other_topics():
    """What the limit of 0.55 does not cover: measured 0.555 on default rings and 0.68 on plain ones."""
    for knobs, lowest, highest in (({}, 0.51, 0.60), (PLAIN, 0.60, 0.75)):
        world = TinyWorlds(ring_fraction=1.0, **knobs)
        pairs, labels, _ = sop_pairs(world, 1, count=3000)
        train, answers = nsp_pairs(world, 2, "other_topic")
        vocabulary = audit.Vocabulary.of(train)
        model = audit.fit(*vocabulary.bags(train), answers, rank=32, decay=0.3)
        assert lowest <= (model.predict(*vocabulary.bags(pairs)) == labels).mean() <= highest


# ---- the command


@pytest.fixture
def corpus(capsys):
    """Run `minalbert corpus ...`; its exit code, output and complaint."""

    def run(*argv):
        code = commands.main(["corpus", *argv])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_generate(corpus, tmp_path):
    world = TinyWorlds(seed=4, ring_fraction=1.0, entity_cues=False)
    knobs = ("--stories", "3", "--start", "2", "--seed", "4", "--ring-fraction", "1", "--no-entity-cues")
    expected = "\n".join("".join(text + "\n" for text in world.story(index).sentences) for index in range(2, 5))
    assert corpus("generate", *knobs, "--out", "-") == (0, expected, "")
    path = tmp_path / "stories.txt"
    assert corpus("generate", *knobs, "--out", str(path)) == (0, "", "")
    assert path.read_bytes() == expected.encode()


def test_a_full_disk_leaves_no_half_of_the_stories(corpus, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "stories.txt"
    monkeypatch.setattr("os.fsync", full)
    code, _, err = corpus("generate", "--stories", "3", "--out", str(path))
    assert (code, err.count("\n")) == (2, 1)
    assert "stories.txt could not be written (No space left on device)" in err
    assert list(tmp_path.iterdir()) == []


def test_generate_words(corpus):
    _, out, _ = corpus("generate", "--stories", "20", "--words", "--out", "-")
    assert set(out.split()) <= set(TinyWorlds().words())


def test_show(corpus):
    story = TinyWorlds(seed=1, p_handover=1.0).story(6)
    code, out, _ = corpus("show", "--index", "6", "--seed", "1", "--p-handover", "1")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith(f"story 6: {story.schema} (topic {story.topic}), a {story.kind}, in order")
    assert lines == str(story).splitlines()
    for line, text, step in zip(lines[-len(story.sentences) :], story.sentences, story.steps, strict=True):
        assert text in line
        assert line[:4].strip() == ("" if step is None else str(step))


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (("generate", "--stories", "0", "--out", "-"), "stories is 0"),
        (("generate", "--stories", "1", "--out", "-", "--p-fill", "2"), "p_fill is 2.0"),
        (("show", "--index", "-1"), "index is -1"),
        (("generate", "--stories", "1", "--out", os.path.join("no", "such", "place")), "could not be written"),
        (
            ("generate", "--stories", "1", "--out", os.devnull),
            "it is a pipe or a device where a file must be; remove it",
        ),
    ],
)
def test_complaints(corpus, argv, complaint):
    code, out, err = corpus(*argv)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
