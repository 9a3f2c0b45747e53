# %% [markdown]
# # 6. From text to instances
#
# ALBERT learns from text alone: which words were hidden (MLM), and which of two segments came first (SOP). How does a
# document become what the model reads? Here is every step, from sentences to masked pairs, and at the end all of them
# written out in plain Python, equal to the library draw for draw.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import tempfile
import textwrap
from itertools import pairwise

import numpy as np

from minalbert import data, plots
from minalbert.data.chunks import BEFORE_ALL
from minalbert.data.random_draws import Choice, below, bits, chance, keys, lower

# %% [markdown]
# ## Text
#
# Real text would do (`minalbert data build`), but with made-up text we know what is in it. Tiny worlds tell short
# stories by sixteen scripts. In half of the stories, the *lines*, each step has its place: one bakes, then eats. The
# others are *rings*, such as a farm's year: they begin anywhere, so that a step alone does not tell whether it is early
# or late.
#
# A *document* is a list of sentences that belong together, here a story. A *tokenizer* turns its words into numbers:
# trained pieces of words for real text, one token a word here. The numbers are in files, called shards, which record
# where each sentence and each document begins.

# %%
def corpus_of(worlds, stories=3000):
    tokenizer = data.WordTokenizer(worlds.words())
    directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    folders.append(directory)                        # it is removed when nothing holds it any more
    return data.build_corpus(data.story_sources(worlds, stories, stories), tokenizer, directory.name), tokenizer


def show_text(text, indent=6):
    for line in str(text).splitlines():
        print(textwrap.fill(line, 42, subsequent_indent=" " * indent))


folders = []
worlds = data.TinyWorlds(seed=0)
show_text(worlds.story(0))
corpus, tokenizer = corpus_of(worlds)
totals = corpus.totals()
text = next(worlds.documents(0, 1)).sentences[0]
ids = tokenizer.encode(text)
print()
show_text(text)
print("->", *ids)
print(f"{totals['documents']:,} documents, {totals['sentences']:,} sentences")
print(f"{totals['tokens']:,} tokens")
rings = np.mean([worlds.story(number).kind == "ring" for number in range(1000)])
print(f"{rings:.1%} of 1,000 stories are rings")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert tokenizer.decode(ids) == text
assert totals["documents"] == 3000
assert len(ids) == len(text.split())
assert min(ids) > 4        # the five below are special: [CLS], [SEP], [MASK], ...
assert len(data.SCHEMAS) == 16
assert abs(rings - 0.5) < 4 * (0.25 / 1000) ** 0.5

# %% [markdown]
# ## Pairs, and spans
#
# A document is cut into chunks of whole sentences that fill an instance; a chunk is cut once more, between two of its
# sentences, into A and B; a random choice decides whether they change places. The model reads `[CLS] A [SEP] B [SEP]`.
#
# Then words are hidden: 15 % of all tokens, `[CLS]` and `[SEP]` counted. Neighbours are hidden together, $n$-grams of
# one to three words with $p(n) \propto 1/n$:
#
# $$\begin{gathered}
# p(n) = \frac{1/n}{1 + 1/2 + 1/3}: \quad \tfrac{6}{11},\ \tfrac{3}{11},\ \tfrac{2}{11} \\[1em]
# \mathrm{mean} = \frac{3}{1 + 1/2 + 1/3} = \tfrac{18}{11} \approx 1.64 \text{ words}
# \end{gathered}$$
#
# Those are the *draws*. The realised lengths differ: a span that does not fit what is left of the 15 % is
# shortened, and one that meets a hidden word is given up. Both happen more often to long ones. By how much is easier
# counted than derived, so here is the algorithm for one segment, where each word is a token.

# %%
def spans(words, budget, rng):
    """The lengths of the spans that are hidden among so many words, until the budget is spent."""
    taken, lengths, p = np.zeros(words, bool), [], 1 / np.arange(1, 4)
    for start in rng.permutation(words):
        n = min(rng.choice([1, 2, 3], p=p / p.sum()), budget - sum(lengths), words - start)
        if n > 0 and not taken[start : start + n].any():
            taken[start : start + n] = True
            lengths.append(n)
    return lengths

recipe = data.Recipe(max_length=64, max_predictions=10)
instances = data.Instances(corpus, tokenizer, recipe, seed=0)
sample = [instances.detail(0, number) for number in range(0, len(instances), 8)]
rng = np.random.default_rng(0)
ours, theirs = [], []
for detail in sample:
    theirs += [span.words for span in detail.spans]
    ours += spans(len(detail.input_ids) - 3, sum(len(span.positions) for span in detail.spans), rng)

shares = [np.bincount(lengths, minlength=4)[1:] / len(lengths) for lengths in (ours, theirs)]
drawn = np.array([6, 3, 2]) / 11
for name, share in (("drawn", drawn), ("ten lines", shares[0]), ("library", shares[1])):
    print(f"{name:9}" + "".join(f"{part:7.1%}" for part in share) + f"   mean {share @ [1, 2, 3]:.2f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert np.abs(shares[0] - shares[1]).max() < 0.04
assert shares[1][0] > drawn[0] + 0.04
assert round(drawn @ [1, 2, 3], 2) == 1.64

# %% [markdown]
# The library hides the words of a whole batch at once, but draws by the same rules. (Its spans do not cross the border
# between A and B, which our ten lines ignore.)
#
# Type a text of your own below, in two halves. The random numbers are the library's, computed in your browser; long
# words have pieces of six letters. **Find out**: is a long word ever hidden in part? How many of ten epochs are
# swapped?

# %%
plots.masked_text(
    "The baker kneads the dough before it rises. Then she waits and reads an extraordinarily long newspaper.",
    "Half an hour later she bakes the bread. Everybody in the neighbourhood comes and buys two loaves.",
)

# %% [markdown]
# ## All of it, written out
#
# Here is the whole way from a document to an instance, in plain Python, with subwords of a real sentencepiece
# vocabulary. We train one of 600 pieces on the stories; a piece that begins a word begins with ▁.

# %%
pieces = data.train_sentencepiece(
    (sentence for document in worlds.documents(0, 1000) for sentence in document.sentences), vocab_size=600
)
folders.append(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
by_pieces = data.build_corpus(data.story_sources(worlds, 1000), pieces, folders[-1].name)
small = data.Recipe(max_length=48, max_predictions=5)
library = data.Instances(by_pieces, pieces, small, seed=0)
story = next(worlds.documents(3, 4)).sentences
for sentence in story:
    show_text(" ".join(pieces.pieces[i] for i in pieces.encode(sentence)))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert sum(len(pieces.encode(sentence)) for sentence in story) > sum(len(sentence.split()) for sentence in story)

# %% [markdown]
# Every random number has an address: seed, epoch, instance, what is chosen, and an index. `bits` hashes an address into
# 64 bits, of which `below` makes a whole number and `chance` a yes or no. So the draws can be repeated in any order.
#
# **Chunks.** A chunk takes sentences while the next one fits into 48 tokens less `[CLS]` and two `[SEP]`; one chunk in
# ten gets a shorter target. It takes two sentences even if they do not fit. A sentence that is left alone joins the
# chunk before it, or gets one from it. Half of the documents are cut from their end, because the sentence that did not
# fit is longer than most, and would otherwise always come first in its chunk.

# %%
CLS, SEP, MASK = (pieces.pieces.index(piece) for piece in ("[CLS]", "[SEP]", "[MASK]"))


def chunks(lengths, document, recipe, seed):
    """[(first sentence, past the last)] of a document whose sentences have these lengths"""
    key = keys(seed, BEFORE_ALL, document)
    draws = bits(key, Choice.SHORT, np.arange(len(lengths)))
    shorter = 2 + below(lower(draws), recipe.room - 1)
    targets = np.where(chance(draws, recipe.short_fraction), shorter, recipe.room)
    backwards = chance(bits(key, Choice.DIRECTION), 0.5)[0]
    if backwards:
        lengths, targets = lengths[::-1], targets[::-1]
    bounds, used = [0], 0
    for place, length in enumerate(lengths):
        if place - bounds[-1] >= 2 and used + length > targets[bounds[-1]]:
            bounds.append(place)
            used = 0
        used += length
    if len(lengths) - bounds[-1] < 2 and len(bounds) > 1:
        if bounds[-1] - bounds[-2] > 2:
            bounds[-1] -= 1
        else:
            bounds.pop()
    bounds.append(len(lengths))
    if backwards:
        bounds = [len(lengths) - bound for bound in reversed(bounds)]
    return list(pairwise(bounds))


# %% [markdown]
# **A pair.** The chunk is cut between two of its sentences, anywhere with the same probability. With probability 1/2
# the parts are swapped, and the label is 1. What does not fit is removed from the longer part, token by token, and of
# equals from the second. How much of that is removed at a part's front is random, so that no position is always lost.

# %%
def pair(sentences, key, room):
    """A chunk's sentences as lists of ids -> first, second, label"""
    split = 1 + int(below(bits(key, Choice.SPLIT), len(sentences) - 1)[0])
    parts = [[i for sentence in half for i in sentence] for half in (sentences[:split], sentences[split:])]
    label = int(chance(bits(key, Choice.SWAP), 0.5)[0])
    if label:
        parts.reverse()
    cut = [0, 0]
    while sum(map(len, parts)) - sum(cut) > room:
        longer = 0 if len(parts[0]) - cut[0] > len(parts[1]) - cut[1] else 1
        cut[longer] += 1
    for side in (0, 1):
        front = int(below(bits(key, Choice.TRIM, side), cut[side] + 1)[0])
        parts[side] = parts[side][front : len(parts[side]) - (cut[side] - front)]
    return *parts, label


# %% [markdown]
# **Masks.** The words of each part are lists of places, because a word may have several pieces. They are shuffled, and
# one after the other begins a span of $n$ words. A span is shortened while it has more *tokens* than the budget still
# allows, and given up if one of its words is taken. The budget is 15 % of all tokens, at most `max_predictions`. (The
# released program has at most 20, for sequences of 512 tokens as well: 3.9 % of them.)
#
# **What stands there.** `[MASK]` in 80 %, a random word in 10 %, the word itself in 10 %. So the model can never be
# sure that a word it reads is the true one, and must be able to predict any position.

# %%
def words_of(part, begin):
    """The places of each word's pieces; the part begins at place `begin`."""
    words = []
    for place, token in enumerate(part, begin):
        if pieces.word_starts[token] or not words:
            words.append([])
        words[-1].append(place)
    return words


def spans_of(parts, key, recipe):
    """The spans in the order of choice, each a list of words."""
    segments = [words_of(parts[0], 1), words_of(parts[1], len(parts[0]) + 2)]
    order = [(words, start) for words in segments for start in range(len(words))]
    left = min(recipe.max_predictions, max(1, round(0.15 * (len(parts[0]) + len(parts[1]) + 3))))
    taken, spans = set(), []
    for rank in range(len(order)):
        draw = bits(key, Choice.SPAN, rank)
        pick = rank + int(below(draw, len(order) - rank)[0])
        order[rank], order[pick] = order[pick], order[rank]          # Fisher and Yates
        n = 1 + sum(int(lower(draw)[0]) / 2**64 >= bound for bound in (6 / 11, 9 / 11))
        words, start = order[rank]
        span = words[start : start + n]
        while sum(map(len, span)) > left:
            span.pop()
        if span and taken.isdisjoint(place for word in span for place in word):
            spans.append(span)
            taken.update(place for word in span for place in word)
            left -= sum(map(len, span))
        if not left:
            break
    return spans


def instance(sentences, key, recipe):
    """input_ids, token_type_ids, label, {place: the token to find}, spans"""
    first, second, label = pair(sentences, key, recipe.room)
    ids = [CLS, *first, SEP, *second, SEP]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    spans = spans_of((first, second), key, recipe)
    hidden = {place: ids[place] for span in spans for word in span for place in word}
    for place in hidden:
        draw = bits(key, Choice.REPLACE, place)
        if chance(draw, 0.8)[0]:
            ids[place] = MASK
        elif not chance(draw, 0.9)[0]:
            ids[place] = 5 + int(below(bits(key, Choice.REPLACEMENT, place), len(pieces.pieces) - 5)[0])
    return ids, types, label, hidden, spans


# %% [markdown]
# Each step on one text, and then all instances of the first 100 documents beside the library's, in two epochs:

# %%
def show(ids):
    return " ".join(pieces.pieces[i] for i in ids)


def as_lists(detail):
    """What the library says of an instance, in the form of ours."""
    places = [place for span in detail.spans for place in span.positions]
    words = sorted(span.words for span in detail.spans)
    return detail.input_ids.tolist(), detail.token_type_ids.tolist(), detail.label, places, words


its_rows = library.table.all()
number, compared, unequal, several, cut, shown = 0, 0, 0, 0, 0, False
for document in worlds.documents(0, 100):
    sentences = [pieces.encode(sentence) for sentence in document.sentences]
    for first, last in chunks([len(sentence) for sentence in sentences], int(its_rows.document[number]), small, 0):
        for epoch in (0, 1):
            key = keys(0, epoch, number)
            ids, types, label, hidden, spans = instance(sentences[first:last], key, small)
            theirs = library.detail(epoch, number)
            ours = ids, types, label, sorted(hidden), sorted(len(span) for span in spans)
            compared += 1
            unequal += ours != as_lists(theirs)
            several += any(len(word) > 1 for span in spans for word in span)
            cut += sum(map(len, sentences[first:last])) > small.room
            if label and last - first > 2 and any(len(word) > 2 for span in spans for word in span) and not shown:
                shown = True
                a, b, _ = pair(sentences[first:last], key, small.room)
                found = "; ".join(show(hidden[place] for word in span for place in word) for span in spans)
                lines = {"chunk": " | ".join(document.sentences[first:last]), "A": show(a), "B": show(b),
                         "label": f"{label} ({'swapped' if label else 'in order'})", "hidden": found,
                         "reads": show(ids)}  # fmt: skip
                for name, line in lines.items():
                    show_text(f"{name:7} {line}", indent=8)
        number += 1
print(f"\n{compared} instances, {cut} were cut")
print(f"{unequal} are not equal to the library's")
print(f"{several} hide a word of several pieces whole")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert unequal == 0
assert shown
assert round(20 / 512, 3) == 0.039
assert compared > several > 50
assert cut > 0
assert np.bincount(library.batch(0, np.arange(300)).sop_labels).min() > 110

# %% [markdown]
# One of the library's instances as a picture. Under each place that is predicted stands the piece to find:

# %%
plots.instance_strip(data.strip_of_instance(library, pieces, epoch=0, number=93))

# %% [markdown]
# ## Tasks for the reader
#
# **1. Pairs for NSP.** BERT's second loss asks whether B follows A. Write `nsp_pair`: with probability 1/2 the second
# part comes from another document, with label 1. Which of the draws of `pair` do you still need?


# %%
def nsp_pair(sentences, others, key, room):
    """A chunk's sentences, and those of a chunk of another document -> first, second, label"""
    a = b = label = None  # your answer here
    return a, b, label


first, last = (pieces.encode(sentence) for sentence in (story[0], story[-1]))
a, b, label = nsp_pair([first, last], [last], keys(0, 0, 0), 45)
print("nsp_pair is not written yet" if a is None else f"{show(a)} | {show(b)}: {label}")

# %% [markdown]
# **2. The cap.** Sequences have 512 tokens, and at most 20 are predicted. What does the cap save in the decoder, whose
# logits are (predictions, V)? What does it cost in learning? Find the shortest sequence that it cuts.
#
# *Your answer:*
#
# **3. Spans.** `spans_of` shortens a span that does not fit the budget. Suppose it gave the span up instead. Would the
# mean length rise or fall? Change one line, count, and explain.
#
# *Your answer:*
#
# ## Next
#
# Notebook 7 inspects these instances. Write pairs, masks and spans yourself with `minalbert exercise start ex08`; make
# instances of your own text with `minalbert data build`.
