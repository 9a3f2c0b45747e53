"""From sentences to batches: nothing lost, nothing invented, and every row a function of its number alone."""

import dataclasses
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_corpora import believable, chi_square, corpora, corpus_of, story_lengths

from minalbert import PRESETS, Batch
from minalbert.data import released
from minalbert.data.chunks import fill
from minalbert.data.documents import Document
from minalbert.data.instances import Instances, Recipe
from minalbert.data.pairs import cuts
from minalbert.data.shards import Corpus
from minalbert.data.tokenizer import CLS, MASK, SEP
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DataError

SHORT = {"max_length": 40, "max_predictions": 6}
POLICIES = {
    "clean": Recipe(**SHORT),
    "static": Recipe(**SHORT, static_masks=2),
    "none": Recipe(**SHORT, pairs="none"),
    "nsp": Recipe(**SHORT, pairs="nsp", nsp_negatives="uniform"),
    "released": Recipe.released(**SHORT),
    "released nsp": Recipe.released(**SHORT, pairs="nsp"),
    "front": Recipe(**SHORT, truncate="front"),
    "back": Recipe.released(**SHORT, truncate="back"),
}


def opened(made, recipe, seed=0):
    """Instances, or None for a corpus that such a recipe must refuse."""
    corpus, tokenizer, text = made
    pairless = recipe.pairs != "none" and recipe.policy == "clean" and max(map(len, text)) < 2
    alone = recipe.pairs == "nsp" and recipe.policy == "clean" and len(text) < 2
    if pairless or alone:
        with pytest.raises(DataError, match="one sentence only" if pairless else "only one document"):
            Instances(corpus, tokenizer, recipe, seed)
        return None
    return Instances(corpus, tokenizer, recipe, seed)


def whole_epoch(instances, epoch=0):
    return instances.batch(epoch, np.arange(len(instances)))


def same(one, other):
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def sentences_by_token(text):
    """token -> (document, sentence)"""
    return {
        token: (d, s) for d, document in enumerate(text) for s, sentence in enumerate(document) for token in sentence
    }


@settings(max_examples=60)
@given(made=corpora(), name=st.sampled_from(sorted(POLICIES)), seed=st.integers(0, 3))
def test_an_instance_is_what_its_detail_says(made, name, seed):
    """Tokens, order, labels, masks and spans of every instance of random corpora."""
    recipe = POLICIES[name]
    instances = opened(made, recipe, seed)
    if instances is None:
        return
    corpus, tokenizer, text = made
    whose = sentences_by_token(text)
    config = PRESETS["tiny"].replace(vocab_size=corpus.vocab_size)
    batch = whole_epoch(instances, epoch=1)
    batch.check(config)
    for number in range(len(instances)):
        detail = instances.detail(1, number)
        check_text(detail, corpus, recipe, whose)
        check_masks(detail, tokenizer, recipe, corpus.vocab_size)
        check_row(detail, Batch(*(array[number : number + 1] for array in batch)))


def check_text(detail, corpus, recipe, whose):
    parts = [corpus.shards[part.shard].tokens[part.start : part.stop] for part in detail.segments]
    assert detail.original_ids.tolist() == [CLS] + [i for part in parts for i in (*part.tolist(), SEP)]
    assert all(len(part) for part in parts)
    assert len(detail.original_ids) <= recipe.max_length
    assert detail.token_type_ids.tolist() == [0] * (len(parts[0]) + 2) + [1] * (
        len(detail.original_ids) - len(parts[0]) - 2
    )
    documents = [{whose[int(token)][0] for token in part} for part in parts]
    for part, found in zip(detail.segments, documents, strict=True):
        assert found == {part.document}
    if recipe.pairs == "none":
        assert detail.label == 0
        return
    first, second = detail.segments
    if first.document != second.document:
        assert detail.label == 1
        assert recipe.pairs == "nsp" or detail.sentences[1] - detail.sentences[0] == 1
    elif recipe.pairs == "sop" and detail.sentences[1] - detail.sentences[0] > 1:
        assert detail.label == (first.start > second.start)
    elif detail.label == 0:
        assert first.stop <= second.start


def check_masks(detail, tokenizer, recipe, vocab_size):
    masked = [position for span in detail.spans for position in span.positions]
    assert masked == sorted(set(masked))
    budget = min(recipe.max_predictions, max(1, round(len(detail.original_ids) * recipe.mask_fraction)))
    assert len(masked) <= budget
    others = np.setdiff1d(np.arange(len(detail.input_ids)), masked)
    assert np.array_equal(detail.input_ids[others], detail.original_ids[others])
    lowest = 0 if recipe.special_replacements else MASK
    assert all(lowest <= token < vocab_size for token in detail.input_ids[masked])
    assert not {CLS, SEP} & set(detail.original_ids[masked].tolist())
    begins = tokenizer.word_starts[detail.original_ids]
    if not recipe.spans_cross_segments:
        begins[1] = True
        begins[np.flatnonzero(np.diff(detail.token_type_ids)) + 1] = True
    for span in detail.spans:
        if not recipe.spans_cross_segments:
            inside = np.arange(span.positions[0], span.positions[-1] + 1)
            assert len(inside) == len(span.positions)
            assert len(set(detail.token_type_ids[inside].tolist())) == 1
            assert begins[span.positions[0]]
            assert begins[inside].sum() == span.words
            after = span.positions[-1] + 1
            assert begins[after] or detail.original_ids[after] == SEP


def check_row(detail, row):
    length = len(detail.input_ids)
    assert row.attention_mask[0].tolist() == [1] * length + [0] * (row.input_ids.shape[1] - length)
    assert row.input_ids[0].tolist() == detail.input_ids.tolist() + [0] * (row.input_ids.shape[1] - length)
    assert row.token_type_ids[0, :length].tolist() == detail.token_type_ids.tolist()
    masked = [position for span in detail.spans for position in span.positions]
    unused = row.mlm_positions.shape[1] - len(masked)
    assert row.mlm_positions[0].tolist() == masked + [0] * unused
    assert row.mlm_labels[0].tolist() == detail.original_ids[masked].tolist() + [0] * unused
    assert row.mlm_weights[0].tolist() == [1.0] * len(masked) + [0.0] * unused
    assert row.sop_labels.tolist() == [detail.label]


@settings(max_examples=60)
@given(made=corpora(), pairs=st.sampled_from(["sop", "none"]), seed=st.integers(0, 3))
def test_every_sentence_is_in_one_chunk(made, pairs, seed):
    recipe = Recipe(**SHORT, pairs=pairs)
    instances = opened(made, recipe, seed)
    if instances is None:
        return
    corpus, _, text = made
    table, texts = instances.table, instances.texts
    seen = Counter()
    for document, first, last in zip(*table.all()[:3], strict=True):
        shard, begin, end = (int(x[0]) for x in texts.sentences_of(np.array([document])))
        assert begin <= first < last <= end
        assert last - first >= recipe.segments
        sizes = np.diff(corpus.shards[shard].sentences[first : last + 1].astype(int))
        assert sizes.sum() <= recipe.room or len(sizes) <= recipe.segments + (pairs == "sop")
        seen.update((int(document), int(sentence) - begin) for sentence in range(first, last))
    usable = [(d, s) for d, doc in enumerate(text) if len(doc) >= recipe.segments for s in range(len(doc))]
    assert seen == Counter(usable)
    assert table.left_out == sum(len(document) < recipe.segments for document in text)


@settings(max_examples=30)
@given(made=corpora(least_sentences=2), seed=st.integers(0, 3))
def test_what_fits_is_kept_and_swapping_only_swaps(made, seed):
    """A chunk that fits is there whole, first half and second, in one order or the other."""
    instances = Instances(made[0], made[1], Recipe(**SHORT), seed)
    for number in range(len(instances)):
        details = [instances.detail(epoch, number) for epoch in range(6)]
        first, last = details[0].sentences
        begins = made[0].shards[details[0].segments[0].shard].sentences
        fits = begins[last] - begins[first] <= instances.recipe.room
        for detail in details:
            assert detail.sentences == (first, last)
            early, late = detail.segments[::-1] if detail.label else detail.segments
            total = sum(part.stop - part.start for part in detail.segments)
            if fits:
                assert (early.start, late.stop) == (begins[first], begins[last])
                assert early.stop == late.start
                assert early.stop in begins
            else:
                assert total == instances.recipe.room


@pytest.mark.parametrize("name", POLICIES)
def test_a_row_depends_on_its_number_alone(name):
    """Together or alone, in any order, repeated, by a second reader: the same bytes."""
    corpus, tokenizer, _ = corpus_of([[5, 90], [30], *story_lengths(30)], shards=3)
    instances = Instances(corpus, tokenizer, POLICIES[name], seed=5)
    count = len(instances)
    together = whole_epoch(instances, epoch=3)
    shuffled = np.random.default_rng(0).permutation(count)
    assert same(instances.batch(3, shuffled), Batch(*(array[shuffled] for array in together)))
    restarted = Instances(corpus, tokenizer, POLICIES[name], seed=5)
    for number in (0, 7, count - 1):
        assert same(restarted.batch(3, [number]), Batch(*(array[[number]] for array in together)))
    assert same(restarted.batch(3, [4, 4]), Batch(*(array[[4, 4]] for array in together)))


@pytest.mark.parametrize("size", [1, 7, 300])
def test_an_epoch_has_each_instance_once_and_starts_anywhere(size):
    corpus, tokenizer, _ = corpus_of(story_lengths(40))
    instances = Instances(corpus, tokenizer, POLICIES["clean"], seed=1)
    batches = list(instances.batches(size, epoch=2))
    assert [len(batch.input_ids) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    everything = Batch(*map(np.concatenate, zip(*batches, strict=True)))
    table = whole_epoch(instances, epoch=2)
    assert sorted(map(bytes, everything.input_ids)) == sorted(map(bytes, table.input_ids))
    assert not np.array_equal(everything.input_ids, table.input_ids)
    for start in (1, len(batches) // 2, len(batches) - 1):
        rest = list(instances.batches(size, epoch=2, start=start))
        assert len(rest) == len(batches) - start
        assert all(same(one, other) for one, other in zip(rest, batches[start:], strict=True))
    assert list(instances.batches(size, epoch=2, start=len(batches))) == []


def test_each_epoch_has_its_own_order():
    """Whole chunks without masks are the same rows in every epoch, in another order."""
    corpus, tokenizer, _ = corpus_of(story_lengths(40))
    instances = Instances(corpus, tokenizer, Recipe(max_length=64, pairs="none", mask_fraction=0.0))
    first, second = (next(instances.batches(len(instances), epoch)).input_ids for epoch in range(2))
    assert sorted(map(bytes, first)) == sorted(map(bytes, second))
    assert (first == second).all(1).mean() < 0.1


def test_epochs_seeds_and_static_masks():
    corpus, tokenizer, _ = corpus_of(story_lengths(30))
    recipe = POLICIES["clean"]
    instances = Instances(corpus, tokenizer, recipe)
    epochs = [whole_epoch(instances, epoch) for epoch in range(3)]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert (epochs[one].input_ids != epochs[other].input_ids).any(1).mean() > 0.95
    assert not same(whole_epoch(Instances(corpus, tokenizer, recipe, seed=1)), epochs[0])
    static = Instances(corpus, tokenizer, recipe.replace(static_masks=2))
    assert same(whole_epoch(static, 0), epochs[0])
    assert same(whole_epoch(static, 1), epochs[1])
    assert same(whole_epoch(static, 2), epochs[0])
    assert same(whole_epoch(static, 41), epochs[1])


def many(recipe, documents=700, epochs=1, **changes):
    """A corpus, its text and the details of epochs of instances."""
    made = corpus_of(story_lengths(documents), shards=2, **changes)
    instances = Instances(made[0], made[1], recipe)
    return instances, made, [whole_epoch(instances, epoch) for epoch in range(epochs)]


def test_rates_of_a_clean_epoch():
    """Swaps, short instances, tokens masked and what replaced them, against their exact binomial bounds."""
    recipe = Recipe(max_length=64, max_predictions=9)
    instances, (corpus, _, _), (batch,) = many(recipe)
    count = len(instances)
    assert believable(int(batch.sop_labels.sum()), count, 0.5)
    short = 0.1 * (recipe.room - 2) / (recipe.room - 1)  # one of the short targets is the full one
    assert believable(int((instances.table.all().target < recipe.room).sum()), count, short)
    lengths = batch.attention_mask.sum(1)
    budget = np.clip(np.rint(lengths * 0.15), 1, 9)
    used = batch.mlm_weights.sum(1)
    assert (used <= budget).all()
    assert used.sum() > 0.98 * budget.sum()
    kept = batch.mlm_weights > 0
    seen = np.take_along_axis(batch.input_ids, batch.mlm_positions, 1)[kept]
    labels = batch.mlm_labels[kept]
    other = 0.1 * (1 - 1 / (corpus.vocab_size - 5))
    assert believable(int((seen == MASK).sum()), len(seen), 0.8)
    assert believable(int(((seen != MASK) & (seen != labels)).sum()), len(seen), other)


def test_every_position_is_as_likely_to_be_masked():
    """But for a segment's first and last words, which fewer spans reach."""
    instances, _, batches = many(Recipe(max_length=64, max_predictions=9, short_fraction=0.0), epochs=3, starts=1.0)
    masked = np.zeros(64)
    for batch in batches:
        np.add.at(masked, batch.mlm_positions[batch.mlm_weights > 0], 1)
    real = sum(batch.attention_mask.sum(0) for batch in batches)
    rates = (masked / real)[8:50]
    assert len(instances) > 1000
    assert np.abs(rates / rates.mean() - 1).max() < 0.15


def length_tells(instances, epochs=8):
    """How often is it right to say that the longer segment is the one that comes first?"""
    right = total = 0
    for epoch in range(epochs):
        segments = instances._make(epoch, np.arange(len(instances))).segments
        first, second = segments.lengths.T
        right += int(((first > second) == (segments.labels == 0))[first != second].sum())
        total += int((first != second).sum())
    return right, total


def test_lengths_do_not_tell_the_order(monkeypatch):
    """With documents filled from their front alone they would: the sentence that opens a chunk is a long one."""
    corpus, tokenizer, _ = corpus_of(story_lengths(1500, sentences=30, mean=12))
    recipe = Recipe(max_length=64, max_predictions=9)
    right, total = length_tells(Instances(corpus, tokenizer, recipe))
    assert abs(right / total - 0.5) < 0.006
    monkeypatch.setattr("minalbert.data.chunks.chance", lambda bits, p: np.zeros(np.shape(bits), bool))
    right, total = length_tells(Instances(corpus, tokenizer, recipe))
    assert right / total > 0.512


def released_rows(text, tokenizer, vocab_size, recipe, passes):
    """(tokens of the first segment, of the second, label, foreign, short) of each instance, and spans by length."""
    rng, rows, spans = random.Random(1), [], Counter()
    for _ in range(passes):
        for made in released.instances(text, tokenizer.word_starts.tolist(), vocab_size, recipe, rng):
            second = sum(made.types) - 1
            rows.append((len(made.ids) - 3 - second, second, made.label, made.random, made.short))
            spans.update(made.spans)
    return rows, spans


def our_rows(corpus, tokenizer, recipe, passes):
    rows, spans = [], Counter()
    for seed in range(passes):
        instances = Instances(corpus, tokenizer, recipe, seed)
        made = instances._make(0, np.arange(len(instances)))
        foreign = made.segments.document[:, 0] != made.segments.document[:, 1]
        short = instances.table.all().target < recipe.room
        columns = (*made.segments.lengths.T, made.batch.sop_labels, foreign, short)
        rows += zip(*(column.tolist() for column in columns), strict=True)
        spans.update(made.spans.count.tolist())
    return rows, spans


@pytest.mark.parametrize("pairs", ["sop", "nsp"])
def test_released_policy_is_the_released_script(pairs):
    """Lengths of segments and instances, labels, foreign second segments, spans: as frequent both ways. Without
    short documents, whose instances share their luck."""
    corpus, tokenizer, text = corpus_of([[n] for n in range(10, 60)] + story_lengths(500, mean=15))
    recipe = Recipe.released(max_length=64, max_predictions=9, pairs=pairs, short_fraction=0.0)
    ours, our_spans = our_rows(corpus, tokenizer, recipe, passes=3)
    theirs, their_spans = released_rows(text, tokenizer, corpus.vocab_size, recipe, passes=3)
    assert abs(len(ours) / len(theirs) - 1) < 0.02
    for outcome in (
        lambda row: row[2:],  # label, foreign
        lambda row: (row[0] // 5, row[2]),  # the first segment's length
        lambda row: (row[1] // 5, row[2]),
        lambda row: (row[0] + row[1]) // 4,
    ):
        assert chi_square(Counter(map(outcome, ours)), Counter(map(outcome, theirs))) < 5
    assert chi_square(our_spans, their_spans) < 5


def test_released_short_documents_are_the_released_scripts():
    corpus, tokenizer, text = corpus_of(story_lengths(600, mean=15))
    recipe = Recipe.released(max_length=64, max_predictions=1)
    ours, _ = our_rows(corpus, tokenizer, recipe, passes=4)
    theirs, _ = released_rows(text, tokenizer, corpus.vocab_size, recipe, passes=4)
    for column in (2, 3, 4):  # label, foreign, short
        one, other = (np.mean([row[column] for row in rows]) for rows in (ours, theirs))
        assert abs(one / other - 1) < 0.15
    assert abs(len(ours) / len(theirs) - 1) < 0.1


def test_policies_differ_as_documented():
    """Released: chunks of one sentence get a foreign second segment and label 1, and short targets hold for whole
    documents, which are cut into many. Clean: neither."""
    corpus, tokenizer, _ = corpus_of([[40], [45]] * 20 + story_lengths(600, mean=15))
    shares = {}
    for name, recipe in (("clean", Recipe()), ("released", Recipe.released())):
        recipe = recipe.replace(max_length=64, max_predictions=9)
        rows, _ = our_rows(corpus, tokenizer, recipe, passes=3)
        shares[name] = dict(zip(("label 1", "foreign", "short"), np.mean([row[2:] for row in rows], 0), strict=True))
        assert Instances(corpus, tokenizer, recipe).table.left_out == (40 if name == "clean" else 0)
    assert shares["clean"]["foreign"] == 0
    assert abs(shares["clean"]["label 1"] - 0.5) < 0.02
    assert abs(shares["clean"]["short"] - 0.1) < 0.015
    assert shares["released"]["foreign"] > 0.05
    assert shares["released"]["label 1"] > 0.52
    assert shares["released"]["short"] > 0.16


@pytest.mark.parametrize("kind", ["other_topic", "uniform", "same_topic"])
def test_nsp_negatives_come_from_where_they_should(kind):
    lengths = story_lengths(60)
    topics = [i % 3 for i in range(60)]
    corpus, tokenizer, _ = corpus_of(lengths, shards=2, topics=topics)
    recipe = Recipe(**SHORT, pairs="nsp", nsp_negatives=kind)
    instances = Instances(corpus, tokenizer, recipe)
    segments = instances._make(0, np.arange(len(instances))).segments
    negative = segments.labels == 1
    first, second = segments.document.T
    assert np.array_equal(first != second, negative)
    assert believable(int(negative.sum()), len(negative), 0.5)
    topic = np.array(topics)
    alike = topic[first] == topic[second]
    expected = {"other_topic": 0, "uniform": 19 / 59, "same_topic": 1}[kind]
    assert abs(alike[negative].mean() - expected) < 0.08
    assert len(set(second[negative].tolist())) > 50  # and not from a few of them only
    epochs = [instances._make(epoch, np.arange(len(instances))).segments for epoch in range(30)]
    labels, lengths = (
        np.concatenate(column) for column in zip(*((s.labels, s.lengths[:, 1]) for s in epochs), strict=True)
    )
    assert abs(lengths[labels == 1].mean() / lengths[labels == 0].mean() - 1) < 0.03  # the length tells nothing


def test_truncation_from_either_end():
    """One long chunk, again and again: where the cuts fall."""
    corpus, tokenizer, _ = corpus_of([[100, 100]])
    for policy, truncate, expected in (
        ("clean", "front", {75}), ("clean", "back", {0}), ("clean", "either", set(range(76))),
        ("released", "front", {75}), ("released", "back", {0}),
    ):  # fmt: skip
        recipe = Recipe(max_length=53, max_predictions=5, policy=policy, truncate=truncate, short_fraction=0.0)
        instances = Instances(corpus, tokenizer, recipe)
        details = [instances.detail(epoch, 0) for epoch in range(800 if truncate == "either" else 4)]
        segments = [part for detail in details for part in detail.segments]
        assert {part.stop - part.start for part in segments} == {25}
        assert {part.start % 100 for part in segments} == expected
    either = Instances(corpus, tokenizer, recipe.replace(truncate="either"))
    cut = [either.detail(epoch, 0).segments[0].start % 100 for epoch in range(400)]
    assert believable(sum(cut), 75 * 400, 0.5)
    assert abs(np.var(cut) - 75 / 4) < 5


def test_cuts_are_those_of_token_by_token_truncation():
    lengths = np.array([(a, b) for a in range(1, 12) for b in range(1, 12)])
    for room in range(2, 14):
        expected = []
        for a, b in lengths.tolist():
            first, second = [0] * a, [0] * b
            released.truncate(first, second, room, random.Random(0))
            expected.append([a - len(first), b - len(second)])
        assert cuts(lengths, room).tolist() == expected


def test_the_released_script_cuts_each_token_from_either_end_at_random():
    rng, fronts = random.Random(0), 0
    for _ in range(200):
        first, second = list(range(100)), list(range(100))
        released.truncate(first, second, 50, rng)
        fronts += first[0] + second[0]
    assert believable(fronts, 200 * 150, 0.5)


@pytest.mark.parametrize(
    ("lengths", "target", "bounds"),
    [
        ([5, 5, 5, 5], 10, [0, 2, 4]),  # exactly full
        ([5, 5, 5, 6], 10, [0, 2, 4]),
        ([4, 4, 4, 4, 4, 4], 13, [0, 3, 6]),
        ([4, 4, 4, 4], 13, [0, 2, 4]),  # the last one would be alone: it gets company
        ([5, 5, 5], 10, [0, 3]),  # or joins, where there is none to spare
        ([20, 20, 5, 5], 10, [0, 2, 4]),  # two, fit or not
        ([20], 10, [0, 1]),
    ],
)
def test_chunks_take_what_fits_and_leave_none_alone(lengths, target, bounds):
    assert fill(lengths, [target] * len(lengths), least=2) == bounds


def test_single_segments_take_sentences_one_by_one():
    assert fill([20, 5, 5, 5], [10] * 4, least=1) == [0, 1, 3, 4]


CORPUS, TOKENIZER, _ = corpus_of([[3, 4, 5], [6, 7]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_length": 4}, "max_length is 4; it must be a whole number, at least 5"),
        ({"max_length": 2, "pairs": "none"}, "max_length is 2; it must be a whole number, at least 3"),
        ({"max_length": 64.0}, "max_length is 64.0"),
        ({"max_predictions": 0}, "max_predictions is 0; it must be a whole number, at least 1"),
        ({"mask_fraction": 1.5}, "mask_fraction is 1.5; it must be a number from 0 to 1"),
        ({"short_fraction": "much"}, "short_fraction is 'much'"),
        ({"pairs": "spo"}, "pairs is 'spo'; it must be one of: sop, nsp, none"),
        ({"truncate": "middle"}, "one of: front, back, either"),
        ({"policy": "free"}, "one of: clean, released"),
        ({"nsp_negatives": "all"}, "one of: other_topic, uniform, same_topic"),
        ({"static_masks": -1}, "static_masks is -1"),
        ({"max_ngram": True}, "max_ngram is True"),
        ({"favor_shorter": 1}, "favor_shorter is 1; it must be True or False"),
    ],
)
def test_a_recipe_refuses_what_cannot_be(change, message):
    with pytest.raises(DataError, match=message):
        Recipe(**change)


def changed(thing, **changes):
    return type(thing)(**(vars(thing) | changes))


@pytest.mark.parametrize(
    ("made", "recipe", "message"),
    [
        ((changed(CORPUS, shards=[]), TOKENIZER), {}, "the corpus is empty"),
        ((CORPUS, changed(TOKENIZER, digest="other")), {}, "not the one this corpus was made with"),
        ((CORPUS, changed(TOKENIZER, word_starts=np.ones(9, bool))), {}, "word_starts|begin a word"),
        (corpus_of([[3], [4]])[:2], {}, "has one sentence only.*blank lines"),
        (corpus_of([[3, 4]])[:2], {"pairs": "nsp", "nsp_negatives": "uniform"}, "only one document"),
        ((CORPUS, TOKENIZER), {"pairs": "nsp"}, "does not know its documents' topics: use 'uniform'"),
        (corpus_of([[3, 4]] * 2, topics=[1, 1])[:2], {"pairs": "nsp"}, "only one topic"),
        (
            corpus_of([[3, 4]] * 2, topics=[1, 2])[:2],
            {"pairs": "nsp", "nsp_negatives": "same_topic"},
            "only one document",
        ),
    ],
)
def test_a_corpus_that_cannot_serve_is_refused(made, recipe, message):
    with pytest.raises(DataError, match=message):
        Instances(*made, Recipe(**recipe))


def test_numbers_outside_an_epoch_are_refused():
    instances = Instances(CORPUS, TOKENIZER)
    assert len(instances) == 2
    for numbers in ([2], [-1], [0, 5]):
        with pytest.raises(DataError, match=r"there is no instance .*; an epoch has 0\.\.1"):
            instances.batch(0, numbers)
    for numbers in ([], [0.5], 1):
        with pytest.raises(DataError, match="a list of whole numbers"):
            instances.batch(0, numbers)
    with pytest.raises(DataError, match="size is 0; it must be a whole number, at least 1"):
        next(instances.batches(0))


def test_a_released_corpus_of_one_document_answers_itself():
    """The script tries ten times for another document, and then takes the same."""
    corpus, tokenizer, _ = corpus_of([[5]])
    detail = Instances(corpus, tokenizer, Recipe.released(max_length=16)).detail(0, 0)
    assert detail.label == 1
    assert {part.document for part in detail.segments} == {0}


def test_corpus_and_tokenizer_of_the_house_serve():
    """Not the stand-ins of the other tests: the package's own."""
    tokenizer = WordTokenizer([f"word{i}" for i in range(30)])
    stories = [Document([f"word{i} word{i + 1} word{i + 2}" for i in range(j, j + 6)]) for j in range(20)]
    corpus = Corpus.from_documents(stories, tokenizer)
    instances = Instances(corpus, tokenizer, Recipe(max_length=32))
    batch = next(instances.batches(8))
    batch.check(PRESETS["tiny"].replace(vocab_size=tokenizer.vocab_size))
    assert instances.texts.document_count == 20
    assert tokenizer.decode(instances.detail(0, 0).original_ids[1:4].tolist()).startswith("word")
    with pytest.raises(DataError, match="not the one this corpus was made with"):
        Instances(corpus, WordTokenizer(["other"]))


def test_recipes_are_values():
    assert Recipe().replace(max_length=64) == Recipe(max_length=64)
    assert dataclasses.asdict(Recipe.released())["policy"] == "released"


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda i: next(i.batches(4, start=-1)), "start is -1; it must be a whole number, at least 0"),
        (lambda i: next(i.batches(4, epoch=1.5)), "epoch is 1.5; it must be a whole number"),
        (lambda i: i.batch(-1, [0]), "epoch is -1; it must be a whole number, at least 0"),
        (lambda i: i.batch("0", [0]), "epoch is '0'; it must be a whole number"),
    ],
)
def test_places_that_are_none_are_refused(call, sentence):
    corpus, tokenizer, _ = corpus_of(story_lengths(20))
    with pytest.raises(DataError, match=sentence):
        call(Instances(corpus, tokenizer, Recipe(**SHORT)))


def test_whole_numbers_of_numpy_are_whole_numbers():
    corpus, tokenizer, _ = corpus_of(story_lengths(20))
    recipe = Recipe(**SHORT)
    ours = Instances(corpus, tokenizer, recipe, seed=np.int64(3)).batch(np.int32(2), [1, 0])
    same = Instances(corpus, tokenizer, recipe.replace(max_ngram=np.int64(3)), seed=3).batch(2, np.array([1, 0]))
    assert all(np.array_equal(a, b) for a, b in zip(ours, same, strict=True))
    with pytest.raises(DataError, match=r"seed is 1\.7; it must be a whole number"):
        Instances(corpus, tokenizer, recipe, seed=1.7)


def test_the_released_policy_has_all_the_habits_of_the_released_script():
    assert Recipe(policy="released") == Recipe.released(max_length=128)
    assert Recipe().replace(policy="released").spans_cross_segments
    assert not Recipe.released().replace(policy="clean").special_replacements
    assert not Recipe(policy="released", spans_cross_segments=False).spans_cross_segments
