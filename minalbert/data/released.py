"""The released script's way: one document, one instance, one token at a time, in plain Python.

The same algorithm as google-research/albert's create_pretraining_data.py, rewritten, on token ids.
`Recipe(policy="released")` is tested against it, and benchmarks/data.py compares with it. Its peculiarities:

  * a chunk of one sentence gets its second segment from another document, and label 1, in SOP too;
  * whether a document's instances are short is sampled once for the document, so that about a quarter of the
    instances are, not a tenth;
  * words and spans continue over a [SEP], which is only skipped;
  * a random replacement may be a control token.

One thing is better here: a single seeded generator samples everything. The script samples the spans' lengths from
NumPy's global generator, which it does not seed, and so never makes the same data twice.
"""

import bisect
from typing import NamedTuple

from .masking import ngram_bounds
from .tokenizer import CLS, MASK, SEP


class Instance(NamedTuple):
    ids: list                                        # as they were
    masked: list                                     # what the model reads
    types: list
    positions: list                                  # of the masked tokens, sorted
    labels: list                                     # what stood there
    label: int                                       # SOP: 1 swapped or random; NSP: 1 random
    random: bool                                     # is the second segment from another document?
    short: bool                                      # was the target short?
    spans: list                                      # numbers of words, in the order of choosing


def instances(documents, word_starts, vocab_size, recipe, rng):
    """documents: lists of sentences, which are lists of ids. rng: a random.Random."""
    for number in range(len(documents)):
        yield from document_instances(documents, number, word_starts, vocab_size, recipe, rng)


def document_instances(documents, number, word_starts, vocab_size, recipe, rng):
    document = documents[number]
    short = rng.random() < recipe.short_fraction
    target = rng.randint(2, recipe.room) if short else recipe.room
    chunk, size, place = [], 0, 0
    while place < len(document):
        chunk.append(document[place])
        size += len(document[place])
        if place == len(document) - 1 or size >= target:
            split = rng.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            first, second = joined(chunk[:split]), joined(chunk[split:])
            label, elsewhere = 0, False
            if len(chunk) == 1 or (recipe.pairs == "nsp" and rng.random() < 0.5):
                second = random_segment(documents, number, target - len(first), rng)
                place -= len(chunk) - split          # the unused sentences are used again
                label, elsewhere = 1, True
            elif recipe.pairs == "sop" and rng.random() < 0.5:
                first, second, label = second, first, 1
            truncate(first, second, recipe.room, rng)
            ids = [CLS, *first, SEP, *second, SEP]
            types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
            masked, positions, spans = mask(ids, word_starts, vocab_size, recipe, rng)
            labels = [ids[position] for position in positions]
            yield Instance(ids, masked, types, positions, labels, label, elsewhere, short, spans)
            chunk, size = [], 0
        place += 1


def joined(lists):
    return [item for items in lists for item in items]


def random_segment(documents, number, wanted, rng):
    """Sentences of another document, from a random one on, until there are as many tokens as wanted."""
    for _ in range(10):
        other = rng.randrange(len(documents))
        if other != number:
            break
    segment = []
    for sentence in documents[other][rng.randrange(len(documents[other])) :]:
        segment.extend(sentence)
        if len(segment) >= wanted:
            break
    return segment


def truncate(first, second, room, rng):
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        if rng.random() < 0.5:
            del longer[0]
        else:
            longer.pop()


def mask(ids, word_starts, vocab_size, recipe, rng):
    """The ids with some replaced, the positions where, and how many words each span has."""
    least = 1 if recipe.mask_fraction else 0
    budget = min(recipe.max_predictions, max(least, round(len(ids) * recipe.mask_fraction)))
    bounds = [bound / 2**32 for bound in ngram_bounds(recipe)]
    order = [(words, start) for words in find_words(ids, word_starts, recipe) for start in range(len(words))]
    rng.shuffle(order)
    masked, taken, lengths = list(ids), set(), []
    for words, start in order:
        if len(taken) >= budget:
            break
        n = bisect.bisect_right(bounds, rng.random()) + 1
        while n and len(span := joined(words[start : start + n])) > budget - len(taken):
            n -= 1
        if not n or any(position in taken for position in span):
            continue
        taken.update(span)
        lengths.append(len(words[start : start + n]))
        for position in span:
            masked[position] = replacement(ids[position], vocab_size, recipe, rng)
    return masked, sorted(taken), lengths


def find_words(ids, word_starts, recipe):
    """Stretches of words, which are lists of positions. One stretch a segment; or, where spans may cross segments,
    one in all: [CLS] and [SEP] are skipped, and a word may continue after one."""
    stretches = [[]]
    for position, token in enumerate(ids):
        if token in (CLS, SEP):
            if not recipe.spans_cross_segments:
                stretches.append([])
        elif stretches[-1] and not word_starts[token]:
            stretches[-1][-1].append(position)
        else:
            stretches[-1].append([position])
    return stretches


def replacement(token, vocab_size, recipe, rng):
    if rng.random() < 0.8:
        return MASK
    if rng.random() < 0.5:
        return token
    return rng.randrange(0 if recipe.special_replacements else MASK + 1, vocab_size)
