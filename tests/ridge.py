"""A bag-of-words classifier: ridge regression on the labels, to look for shortcuts with."""

from collections import Counter

import numpy as np

LEAST = 4  # times that a word must be in the training texts


def bags(texts, vocabulary):
    """(texts, words): how often each text has each word. An empty vocabulary is filled first, with what is frequent."""
    if not vocabulary:
        counts = Counter(word for text in texts for word in text.split())
        vocabulary.update((word, i) for i, word in enumerate(sorted(w for w in counts if counts[w] >= LEAST)))
    found = np.zeros((len(texts), len(vocabulary)))
    for row, text in enumerate(texts):
        for word in text.split():
            if word in vocabulary:
                found[row, vocabulary[word]] += 1
    return found


def bag_of_words(train, test):
    """Features of tuples of texts: a bag for each place in the tuple."""
    parts = []
    for place in range(len(train[0])):
        vocabulary = {}
        parts.append([bags([texts[place] for texts in split], vocabulary) for split in (train, test)])
    return [np.hstack(columns) for columns in zip(*parts, strict=True)]


def surface(train, test):
    """How long each text is, and its first and last word, and its first letter."""
    words = bag_of_words(*[[edges(texts) for texts in split] for split in (train, test)])
    return [np.hstack(columns) for columns in zip(words, lengths(train, test), strict=True)]


def lengths(train, test):
    """How long each text is, in words, letters and sentences, and which is longer."""
    return [np.array([sizes(texts) for texts in split], float) for split in (train, test)]


def edges(texts):
    return tuple(f"first:{t.split()[0]} last:{t.removesuffix(' .').split()[-1]} letter:{t[0]}" for t in texts)


def sizes(texts):
    words = [len(text.split()) for text in texts]
    longer = [words[i] > words[j] for i in range(len(texts)) for j in range(i)]
    return [*words, *map(len, texts), *(text.count(".") for text in texts), *longer]


def scores(train, labels, test, strength=3.0):
    """(tests, classes): ridge regression on one column for each class."""
    mean, y = train.mean(0), np.eye(max(labels) + 1)[labels]
    x = train - mean
    weights = np.linalg.solve(x.T @ x + strength * np.eye(x.shape[1]), x.T @ (y - y.mean(0)))
    return (test - mean) @ weights + y.mean(0)


def accuracy(train, labels, test, answers):
    return float((scores(train, labels, test).argmax(1) == np.array(answers)).mean())


def standard_errors(found, chance, count):
    """How far a share of `count` trials is from chance."""
    return (found - chance) / np.sqrt(chance * (1 - chance) / count)
