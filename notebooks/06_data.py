# %% [markdown]
# # 6. From text to instances
#
# ALBERT learns from text alone: which words were hidden (MLM), and which of two segments came first (SOP). What exactly
# does it read, how do we know that what we asked for is what it gets, and could it find the answers by the wrong means?

# %%
# Installs what is missing. SOURCE is the clone around this notebook; elsewhere, as in Colab, give it an address.
import importlib.util
import os
import subprocess
import sys

SOURCE = ".." if os.path.exists("../minalbert/albert.py") else "minalbert"
missing = [what for name, what in {"minalbert": SOURCE, "matplotlib": "matplotlib"}.items()
           if not importlib.util.find_spec(name)]  # fmt: skip
if missing and subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *missing]).returncode:
    raise SystemExit(f"{missing} could not be installed: SOURCE must be a clone of minalbert, or its address")

# %%
import math
import tempfile

import numpy as np

from minalbert import data, plots

# %% [markdown]
# ## Text
#
# Real text would do (`minalbert data build`), but of made-up text we know what is in it. Tiny worlds tell short
# stories by sixteen scripts. In half of the stories, the *lines*, a step has its place: one bakes, then eats. The
# others are *rings*, as a farm's year: they begin anywhere, so that a step alone says nothing of early or late.
#
# A *document* is a list of sentences that belong together, here a story. A *tokenizer* turns its words into numbers:
# trained pieces of words for real text, one token a word here. The numbers lie in files, called shards, in which
# sentences and documents are known by where they begin.

# %%
def corpus_of(worlds, stories=3000):
    tokenizer = data.WordTokenizer(worlds.words())
    directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    folders.append(directory)                        # it is removed when nothing holds it any more
    return data.build_corpus(data.story_sources(worlds, stories, stories), tokenizer, directory.name), tokenizer

folders = []
worlds = data.TinyWorlds(seed=0)
print(worlds.story(0), "\n")
corpus, tokenizer = corpus_of(worlds)
totals = corpus.totals()
text = next(worlds.documents(0, 1)).sentences[0]
ids = tokenizer.encode(text)
print(text, "->", ids)
print(f"{totals['documents']:,} documents, {totals['sentences']:,} sentences, {totals['tokens']:,} tokens")
assert tokenizer.decode(ids) == text
assert totals["documents"] == 3000
assert len(ids) == len(text.split())
assert min(ids) > 4        # the five below are special: [CLS], [SEP], [MASK], ...
assert len(data.SCHEMAS) == 16
rings = np.mean([worlds.story(number).kind == "ring" for number in range(1000)])
print(f"{rings:.1%} of 1,000 stories are rings")
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
# $$p(n) = \frac{1/n}{1 + 1/2 + 1/3}: \quad \tfrac{6}{11},\ \tfrac{3}{11},\ \tfrac{2}{11} \qquad
# \mathrm{mean} = \frac{3}{1 + 1/2 + 1/3} = \tfrac{18}{11} \approx 1.64 \text{ words}$$
#
# Those are the *draws*. What comes of them is something else: a span that does not fit what is left of the 15 % is
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
    print(f"{name:10}" + "".join(f"{part:8.1%}" for part in share) + f"   mean {share @ [1, 2, 3]:.2f}")
assert np.abs(shares[0] - shares[1]).max() < 0.04
assert shares[1][0] > drawn[0] + 0.04
assert round(drawn @ [1, 2, 3], 2) == 1.64

# %% [markdown]
# The library hides the words of a whole batch at once, but draws by the same rules. (Our ten lines know no border
# between A and B, which the library's spans do not cross.)
#
# ## One instance
#
# What stands where a word is to be found: `[MASK]` in 80 %, a random word in 10 %, the word itself in 10 %. So the
# model can never be sure that what it reads is true, and must have an opinion of every word.

# %%
plots.instance_strip(data.strip_of_instance(instances, tokenizer, epoch=0, number=93))

# %% [markdown]
# An instance is a pure function of (seed, epoch, number): the same again whenever it is asked for, alone or in a batch.
# In the next epoch the same number means the same sentences, with another cut, another choice of order and other masks.

# %%
again, other = (instances.detail(epoch, 93) for epoch in (0, 1))
row = instances.batch(0, np.array([3, 93, 9])).input_ids[1]
assert (row[: len(again.input_ids)] == again.input_ids).all()
assert (row[len(again.input_ids) :] == 0).all()
assert again.sentences == other.sentences
assert [span.positions for span in again.spans] != [span.positions for span in other.spans]
hidden = [{place for span in detail.spans for place in span.positions} for detail in (again, other)]
print(f"hidden in epoch 0: {sorted(hidden[0])}")
print(f"hidden in epoch 1: {sorted(hidden[1])}")

# %% [markdown]
# ## Counted
#
# Of $N$ independent draws that come out with chance $p$, the share strays from $p$ by a standard deviation of
# $\sqrt{p (1 - p) / N}$, and by more than four of them about once in 16,000 times. That is the tolerance of an honest
# test: not "about a half", but a half within $4 \sqrt{0.25 / N}$.

# %%
found = data.instance_stats(instances, sample=2000)
for row in found["shares"]:
    if row["group"] in ("labels", "what stands there"):
        p = row["asked_for"]
        deviation = (p * (1 - p) / row["of"]) ** 0.5
        away = (row["share"] - p) / deviation
        print(f"{row['name']:17}{row['share']:7.1%} of {row['of']:6,}   asked for {p:4.0%}   {away:+.1f} deviations")
        assert abs(away) < 4
assert 15_000 < 1 / math.erfc(4 / 2**0.5) < 17_000           # four deviations, on either side

predicted = next(row for row in found["shares"] if row["group"] == "masks")
print(f"{predicted['name']:17}{predicted['share']:7.1%} of {predicted['of']:6,}   asked for "
      f"{predicted['asked_for']:.1%}, exactly")  # fmt: skip
assert predicted["share"] == predicted["asked_for"]
assert abs(predicted["share"] - 0.15) < 0.005
lengths = data.corpus_stats(corpus)["histograms"]
plots.histograms(lengths | found["histograms"])

# %% [markdown]
# ## Can the label be told by the wrong means?
#
# Rates may be right and the puzzle spoilt all the same. If the shorter segment were more often the swapped one, or if
# "first" stood only in what came first, a model could find the order without understanding anything, and its accuracy
# would look splendid. The *audit* trains small models that see too little on purpose: one word, the connectives
# (*then*, *soon*, *again*), the lengths, the tokens at the edges. On pairs they have not seen, they must not beat
# guessing. Two more may: they see all words, and measure what there is to be learnt.
#
# We audit three corpora: the clean recipe; the same with connectives that always tell the truth (a knob of tiny worlds
# plants the leak); and the recipe of the program that ALBERT was released with. The figure has each probe's accuracy
# less one half, in per cent; "usual label" is no probe, but the share of the more frequent label.

# %%
planted, its_tokenizer = corpus_of(data.TinyWorlds(seed=0, p_true_conn=1.0))
released = data.Instances(corpus, tokenizer, recipe.replace(policy="released"), seed=0)
audits = {
    "clean": data.audit_instances(instances, tokenizer, 6000),
    "planted": data.audit_instances(data.Instances(planted, its_tokenizer, recipe, seed=0), its_tokenizer, 6000),
    "released": data.audit_instances(released, tokenizer, 6000),
}
leaks = {name: {finding.probe for finding in findings if finding.leaks} for name, findings in audits.items()}
for name, found in leaks.items():
    print(f"{name:9} leaks: {', '.join(sorted(found)) or 'none'}")
assert leaks == {"clean": set(), "planted": {"connectives only"}, "released": {"length only", "usual label"}}
by_probe = {finding.probe: finding for finding in audits["clean"]}
print(f"clean: every word of A with every word of B {by_probe['bilinear A x B'].accuracy:.2f}; "
      f"guessing exceeds {by_probe['bilinear A x B'].bound:.2f} once in a thousand times")  # fmt: skip
assert by_probe["bilinear A x B"].accuracy > 0.75 > by_probe["bilinear A x B"].bound
plots.distribution_bars([finding.probe for finding in audits["clean"]], {
    f"{name}\nleaks: {', '.join(probe.split()[0] for probe in sorted(leaks[name])) or 'none'}":
        [100 * (finding.accuracy - 0.5) for finding in findings] for name, findings in audits.items()
}, form="{:.0f}")  # fmt: skip

# %% [markdown]
# What happens in the released recipe, on stories as short as these? A chunk of a single sentence cannot be cut and
# swapped. That program gives it a second segment from *another document*, with label 1. If a share $q$ of all chunks is
# so short, the label is 1 in
#
# $$q + \frac{1 - q}{2} = \frac{1 + q}{2}$$
#
# of all instances. And lengths give it away: a single sentence is often all that is left of a document, and what comes
# from elsewhere fills the instance. The clean recipe makes no chunk of one sentence.

# %%
def chunk_lengths(instances):
    chunks = instances.table.all()
    return chunks.last - chunks.first                # in sentences

q = np.mean(chunk_lengths(released) == 1)
pairs, labels = data.pairs_and_labels(released, len(released))
labels, sizes = np.array(labels), np.array([(len(a), len(b)) for a, b in pairs])
alone = sizes[chunk_lengths(released) == 1].mean(axis=0)
print(f"chunks of one sentence: {q:.1%}; label 1 in {labels.mean():.1%}, expected {(1 + q) / 2:.1%}")
print(f"their segments have {alone[0]:.0f} and {alone[1]:.0f} tokens, all others' first ones "
      f"{sizes[chunk_lengths(released) > 1].mean(axis=0)[0]:.0f}")  # fmt: skip
assert alone[0] < 0.5 * alone[1]
assert abs(labels.mean() - (1 + q) / 2) < 4 * (0.25 / len(labels)) ** 0.5
assert q > 0.1
assert chunk_lengths(instances).min() >= 2

# %% [markdown]
# ## Why order, and not "does it follow?"
#
# BERT's puzzle was NSP: in half of the pairs B comes from another document. Two texts from different documents have
# other people and other things in them; to count the words that A and B share is enough to do well. For SOP that count
# is worthless: it is the same for (A, B) and for (B, A), and a random choice was made between the two. What the topic
# tells, NSP rewards and SOP does not.

# %%
def by_shared_words(instances):
    """Accuracy, on the second half of the pairs, of the best limit for the share of common words in the first half."""
    pairs, labels = data.pairs_and_labels(instances, 6000)
    pairs, labels = [(set(a.tolist()), set(b.tolist())) for a, b in pairs], np.array(labels)
    shared = np.array([len(a & b) / min(len(a), len(b)) for a, b in pairs])
    half = len(labels) // 2
    limit = max(np.unique(shared[:half]), key=lambda limit: ((shared[:half] < limit) == labels[:half]).mean())
    return ((shared[half:] < limit) == labels[half:]).mean(), len(labels) - half

for kind in ("sop", "nsp"):
    accuracy, tested = by_shared_words(data.Instances(corpus, tokenizer, recipe.replace(pairs=kind), seed=0))
    print(f"{kind.upper()} by the number of shared words: {accuracy:.2f}")
    assert accuracy > 0.62 if kind == "nsp" else abs(accuracy - 0.5) < 4 * (0.25 / tested) ** 0.5

# %% [markdown]
# ## Next
#
# Pairs, masks and spans: `minalbert exercise start ex08`. On text of your own: `minalbert data build`, then
# `minalbert data stats`, `show` and `audit`.
