"""Corpora to test with: made of numbers, so that each token tells where it stood."""

from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

CONTROL = 5


def corpus_of(lengths, starts=0.7, shards=1, topics=None, seed=0):
    """lengths: for each document, its sentences' lengths. No token occurs twice: the i-th of the corpus is CONTROL + i.

    The corpus, a tokenizer for it, and the text as lists: documents of sentences of ids.
    """
    total = sum(map(sum, lengths))
    rng = np.random.default_rng(seed)
    word_starts = rng.random(CONTROL + total) < starts
    ids = iter(range(CONTROL, CONTROL + total))
    text = [[[next(ids) for _ in range(size)] for size in document] for document in lengths]
    topics = [-1] * len(text) if topics is None else topics
    parts = [slice(i * len(text) // shards, (i + 1) * len(text) // shards) for i in range(shards)]
    corpus = SimpleNamespace(
        shards=[shard_of(text[part], topics[part]) for part in parts],
        vocab_size=CONTROL + total,
        tokenizer_digest="same",
    )
    return corpus, SimpleNamespace(word_starts=word_starts, digest="same"), text


def shard_of(documents, topics):
    sentences = [sentence for document in documents for sentence in document]
    return SimpleNamespace(
        tokens=np.array([token for sentence in sentences for token in sentence], np.uint32),
        sentences=np.cumsum([0, *map(len, sentences)]).astype(np.uint32),
        documents=np.cumsum([0, *map(len, documents)]).astype(np.uint32),
        topics=np.array(topics, np.int32),
    )


def story_lengths(documents, sentences=20, mean=12, seed=0):
    """Lengths for corpus_of, of realistic spread."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(2, 2 * sentences, documents)
    return [np.maximum(1, rng.gamma(3, mean / 3, count).astype(int)).tolist() for count in counts]


def corpora(least_sentences=1):
    """A strategy: corpora of a few documents, some with sentences that fit nowhere."""
    sentence = st.integers(1, 12) | st.integers(1, 60)
    document = st.lists(sentence, min_size=least_sentences, max_size=14)
    return st.builds(
        corpus_of,
        lengths=st.lists(document, min_size=1, max_size=8),
        starts=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        shards=st.integers(1, 3),
        seed=st.integers(0, 5),
    )


def binomial_bounds(n, p, doubt=1e-6):
    """The least and the greatest count of n that are not too rare to believe: each tail beyond has at most half the
    doubt. Summed exactly, from the mass at each count."""
    if n == 0:
        return 0, 0
    counts = np.arange(n + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])  # log k!
    mass = np.exp(logs[n] - logs - logs[::-1] + counts * np.log(p) + (n - counts) * np.log1p(-p))
    below = np.cumsum(mass)
    above = np.cumsum(mass[::-1])[::-1]
    return int(counts[below > doubt / 2][0]), int(counts[above > doubt / 2][-1])


def believable(count, n, p):
    least, greatest = binomial_bounds(n, p)
    return least <= count <= greatest


def chi_square(ours, theirs):
    """Two dicts of counts: the statistic of homogeneity in units of its spread, (X² - k) / √(2k), for k degrees of
    freedom. Outcomes seen fewer than ten times are put together."""
    both = {outcome: (ours.get(outcome, 0), theirs.get(outcome, 0)) for outcome in ours.keys() | theirs.keys()}
    columns = [pair for pair in both.values() if sum(pair) >= 10]
    rare = [pair for pair in both.values() if sum(pair) < 10]
    table = np.array(columns + ([np.sum(rare, 0)] if rare else []), float).reshape(-1, 2).T  # (2, outcomes)
    freedom = table.shape[1] - 1
    if freedom < 1:
        return 0.0
    expected = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    return float(((table - expected) ** 2 / expected).sum() - freedom) / (2 * freedom) ** 0.5
