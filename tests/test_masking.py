"""n-gram whole-word masking: the vectorised choice is the greedy one, in distribution, to the single outcome."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_corpora import believable, chi_square

from minalbert.data import released
from minalbert.data.masking import budgets, choose_spans, find_words, replace, tokens_of
from minalbert.data.random_draws import keys
from minalbert.data.recipe import Recipe
from minalbert.data.tokenizer import CLS, MASK, SEP

V = 40
START, MIDDLE = 10, 30  # a piece that begins a word, and one that does not
WORD_STARTS = np.arange(V) < 20


def row_of(first, second):
    """Words of so many pieces: [2, 1] is a word of two and one of one."""
    return [[START + (i > 0) * 20 for size in words for i in range(size)] for words in (first, second)]


def vectorised(first, second, budget, recipe, rows, seed=0):
    """Outcomes of many rows of the same text: the masked tokens and the spans' numbers of words."""
    text = row_of(first, second)
    tokens = np.array((text[0] + text[1]) * rows)
    lengths = np.tile([len(text[0]), len(text[1])], (rows, 1))
    words = find_words(tokens, WORD_STARTS, lengths, recipe.spans_cross_segments)
    spans = choose_spans(words, np.full(rows, budget), keys(seed, 0, np.arange(rows)), recipe)
    hidden = tokens_of(words, spans, len(tokens))
    row, place = np.divmod(hidden, lengths[0].sum())
    outcomes = [tuple(places.tolist()) for places in np.split(place, np.searchsorted(row, np.arange(1, rows)))]
    return outcomes, spans.count


def greedy(first, second, budget, recipe, rows, seed=0):
    text = row_of(first, second)
    ids = [CLS, *text[0], SEP, *text[1], SEP]
    rng = random.Random(seed)
    outcomes, counts = [], []
    exact = recipe.replace(max_predictions=budget, mask_fraction=1.0)
    for _ in range(rows):
        _, positions, spans = released.mask(ids, WORD_STARTS, V, exact, rng)
        outcomes.append(tuple(p - 1 if p <= len(text[0]) else p - 2 for p in positions))
        counts += spans
    return outcomes, counts


ROWS = {
    "one word": ([1], [1], 1),
    "words too long for the budget": ([3, 3], [4], 2),
    "a budget that only a few fill": ([2, 2], [2, 1, 2], 3),
    "mixed": ([1, 2, 1], [3, 1, 1], 4),
    "single pieces": ([1, 1, 1, 1], [1, 1], 3),
    "more budget than words": ([2, 1], [1], 9),
}


@pytest.mark.parametrize("changes", [{}, {"spans_cross_segments": True}, {"favor_shorter": False}, {"max_ngram": 2}])
@pytest.mark.parametrize("name", ROWS)
def test_outcomes_are_as_frequent_as_the_greedy_algorithms(name, changes):
    """Every set of tokens that can be masked, counted 3,000 times each way. The same distributions pass
    the threshold of 10 once in 10,000 times, for two outcomes; for more, far less often."""
    recipe = Recipe(**changes)
    ours, our_counts = vectorised(*ROWS[name], recipe, 3000)
    theirs, their_counts = greedy(*ROWS[name], recipe, 3000)
    assert chi_square(Counter(ours), Counter(theirs)) < 10
    assert chi_square(Counter(our_counts.tolist()), Counter(their_counts)) < 10


def test_no_word_is_left_untried():
    """One word fits the budget, of many: whenever its turn comes, it is taken, in every row."""
    for others in (3, 14, 15, 16, 17, 30, 100):
        outcomes, counts = vectorised([2] * others, [1], 1, Recipe(), 60)
        assert set(outcomes) == {(2 * others,)}
        assert set(counts.tolist()) == {1}


word_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=12)


@settings(max_examples=60)
@given(
    rows=st.lists(st.tuples(word_sizes, word_sizes), min_size=1, max_size=6),
    budget=st.integers(1, 12),
    cross=st.booleans(),
)
def test_budget_words_and_segments_are_kept(rows, budget, cross):
    texts = [row_of(*row) for row in rows]
    tokens = np.array([token for text in texts for part in text for token in part])
    lengths = np.array([[len(part) for part in text] for text in texts])
    words = find_words(tokens, WORD_STARTS, lengths, cross)
    spans = choose_spans(words, np.full(len(rows), budget), keys(1, 0, np.arange(len(rows))), Recipe())
    segment = np.repeat(np.arange(2 * len(rows)), lengths.ravel())
    row_of_word = np.repeat(np.arange(len(rows)), words.count)
    used = np.zeros(len(rows), int)
    seen = np.zeros(len(words.start), int)
    for first, count in zip(*spans, strict=True):
        seen[first : first + count] += 1
        inside = slice(words.start[first], words.stop[first + count - 1])
        used[row_of_word[first]] += inside.stop - inside.start
        assert len(set(segment[inside] // 2)) == 1
        assert cross or len(set(segment[inside])) == 1
    assert seen.max() <= 1  # no word in two spans
    assert (used <= budget).all()
    assert len(tokens_of(words, spans, len(tokens))) == used.sum()
    for row in np.flatnonzero(used == 0):  # only where no word is short enough
        assert ((words.stop - words.start)[row_of_word == row] > budget).all()


@pytest.mark.parametrize("shorter", [True, False])
def test_span_lengths_are_drawn_in_inverse_proportion(shorter):
    """Words of one piece and a budget of three: the first span is as long as it was drawn."""
    rows, width = 4000, 400
    lengths = np.full((rows, 2), width // 2)
    words = find_words(np.full(rows * width, START), WORD_STARTS, lengths, cross_segments=False)
    spans = choose_spans(words, np.full(rows, 3), keys(0, 0, np.arange(rows)), Recipe(favor_shorter=shorter))
    _, first = np.unique(spans.word // width, return_index=True)
    drawn = Counter(spans.count[first].tolist())
    shares = {1: 6 / 11, 2: 3 / 11, 3: 2 / 11}
    for n in shares:
        assert believable(drawn[n], rows, shares[n if shorter else 4 - n])


def test_budget_counts_every_token_and_rounds_as_python_does():
    recipe = Recipe(max_length=512, max_predictions=20)
    lengths = np.arange(4, 200)
    expected = [min(20, max(1, round(0.15 * n))) for n in lengths.tolist()]
    assert budgets(lengths, recipe).tolist() == expected
    assert budgets(lengths, recipe.replace(mask_fraction=0.0)).max() == 0


@pytest.mark.parametrize("special", [False, True])
def test_replacements_are_eighty_ten_ten(special):
    n = 50_000
    labels = np.full(n, START)
    drawn = replace(labels, keys(0, 0, np.arange(n)), np.arange(n) % 128, V, Recipe(special_replacements=special))
    lowest = 0 if special else 5
    random_share = 0.1 / (V - lowest)
    assert believable(int((drawn == MASK).sum()), n, 0.8 + (random_share if special else 0))
    assert believable(int((drawn == START).sum()), n, 0.1 + random_share)
    for token in range(V):
        if token not in (MASK, START):
            assert believable(int((drawn == token).sum()), n, random_share) if token >= lowest else token not in drawn
