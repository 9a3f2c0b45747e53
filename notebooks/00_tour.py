# %% [markdown]
# # 0. A tour: from a story to a small ALBERT
#
# ALBERT reads text in which words are hidden, and says which words they were (MLM, masked language modelling). It is
# also given two pieces of text, and says whether they are in their original order or swapped (SOP, sentence-order
# prediction). Here you make one, look at its weights, make text for it, train it for some seconds, and then ask: **what
# can a model learn in so short a time?** The answer is a number that you can compute beforehand.

# %%
import minalbert  # missing? In a clone: pip install -e '.[notebooks]'

# %%
import tempfile
import textwrap
from pathlib import Path

import numpy as np

from minalbert import PRESETS, Albert, data, plots, train

# %% [markdown]
# ## A model
#
# A model is a configuration and one long vector of weights, which is read through names. The preset `tiny` has 94,498
# weights in 3 layers; yet it has one query matrix, not three, because ALBERT's layers share their weights. The matrix
# is 64 × 64, drawn from a normal distribution with standard deviation $1/\sqrt{64} = 0.125$. Entries more than two
# standard deviations from zero are drawn again, so none is above 0.25.

# %%
model = Albert.init(PRESETS["tiny"], seed=0)
query = model.params["encoder.attention.query.w"]
print(f"{model.params.flat.size:,} weights, {model.config.num_hidden_layers} layers")
print(*[name for name in model.params if "query.w" in name], query.shape)
print(f"largest entry {abs(query).max():.3f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert model.params.flat.size == 94_498
assert model.config.num_hidden_layers == 3
assert query.shape == (64, 64)
assert 0.24 < abs(query).max() <= 0.25
assert np.shares_memory(query, model.params.flat)    # a view: what is written into it is written into the vector

# %% [markdown]
# ## Text
#
# Five minutes are too short for books. *Tiny worlds* are stories of few words, made up from a seed: number 7 is the
# same story today and tomorrow. A word is a token, and so is a full stop.

# %%
worlds = data.TinyWorlds()
stories = list(worlds.documents(0, 4000))
for sentence in stories[7].sentences[:4]:
    print(textwrap.fill(sentence, 42, subsequent_indent="  "))

# %% [markdown]
# A tokenizer turns words into numbers. This one is a list: five special pieces (padding, the unknown word, `[CLS]`,
# `[SEP]`, `[MASK]`), then the words. A dict of your own does the same as the library's:

# %%
tokenizer = data.WordTokenizer(worlds.words())
number_of = {word: 5 + i for i, word in enumerate(worlds.words())}
sentence = stories[7].sentences[0]
mine = [number_of[word] for word in sentence.split()]
print(f"{tokenizer.vocab_size:,} pieces")
print(*mine)

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert mine == tokenizer.encode(sentence)
assert tokenizer.decode(mine) == sentence
assert tokenizer.vocab_size == 5 + len(number_of)

# %% [markdown]
# ## What the model reads
#
# All settings of a training run are in one object. `train.prepare` makes from it what the run needs: a model's
# configuration with as many words as the tokenizer has, instances to train on, and a batch of instances from held-out
# stories to test on. Words cost weights: 17,622 of this model's 112,120 belong to its 534 words beyond the preset's
# 1,024 (32 each in the word table, and a bias). Below is an instance: two pieces of a story, A and B, some of their
# words hidden, with the word to find under each. A few are replaced at random, or left as they are; the model must find
# those, too.

# %%
settings = train.Settings().change(
    preset="tiny", steps=300, batch=32, rate=0.003, max_length=32, evaluate_every=50, evaluate_instances=500,
    seed=2,
)  # fmt: skip
corpus = data.Corpus.from_documents(stories, tokenizer)
prepared = train.prepare(settings, (corpus, tokenizer))
larger = Albert.init(prepared.config)
print(f"{larger.params.flat.size:,} weights for {prepared.config.vocab_size:,} words")

plots.instance_strip(data.strip_of_instance(prepared.instances, tokenizer, epoch=0, number=6))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert larger.params.flat.size == 112_120
assert prepared.config.vocab_size - 1024 == 534
assert 112_120 - 94_498 == 534 * (32 + 1) == 17_622

# %% [markdown]
# ## What can be learnt without looking?
#
# The loss is the mean of $-\ln q_w$, where $w$ is the hidden word and $q_w$ the probability that the model gave it.
# Suppose that a model does not look at the text at all, and gives the same probabilities $q$ everywhere. If $p_w$ is
# the frequency of word $w$ in the text, its loss is
#
# $$\mathcal L(q) = -\sum_w p_w \ln q_w .$$
#
# Which $q$ is best? Since $\ln x \le x - 1$,
#
# $$\begin{aligned}
# \mathcal L(p) - \mathcal L(q) &= \sum_w p_w \ln \frac{q_w}{p_w} \\[1em]
# &\le \sum_w p_w \left(\frac{q_w}{p_w} - 1\right) = 0 :
# \end{aligned}$$
#
# no guess is better than the frequencies themselves. If all $V$ words have the same probability, $q_w = 1/V$, the loss
# is $\ln V$. Both numbers are known before any training: 7.35 and about 5.35.

# %%
trained_on, _ = corpus.split(settings.data.held_out_share, settings.training.seed)     # the others are kept to test on
test = prepared.held_out

counts = 1 + sum(np.bincount(shard.tokens, minlength=tokenizer.vocab_size) for shard in trained_on.shards)
share = counts / counts.sum()                        # one more of each: a word may be missing, and ln 0 is no loss
hidden = test.mlm_labels[test.mlm_weights > 0]
by_frequency = -np.log(share[hidden]).mean()
alike = np.log(tokenizer.vocab_size)
print(f"all words alike {alike:.2f}, by frequency {by_frequency:.2f}")

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(by_frequency - prepared.baselines.unigram_entropy) < 0.001     # the library counts the same
assert abs(alike - 7.35) < 0.01
assert abs(by_frequency - 5.35) < 0.02

# %% [markdown]
# ## Training
#
# Three hundred steps of 32 instances each. The run writes its settings, its losses and its weights into a folder, here
# a temporary one.

# %%
with tempfile.TemporaryDirectory() as folder:
    run = Path(folder) / "a short run"
    result = train.pretrain(settings, run, corpus=(corpus, tokenizer))
    curves = train.read_curves(run)
before, after = result.before, result.after
print(f"MLM loss {before.mlm_loss:.2f} -> {after.mlm_loss:.2f}    SOP accuracy {after.sop_accuracy:.1f}")

plots.training_curves([curves])

# %% [markdown]
# The loss begins at 7.6, a little above $\ln V$: an untrained model is confidently wrong. It falls to 5.4, where the
# dashed line is, and stays there until the run ends. (It stays there partly because of the schedule: the learning rate
# falls to 0 at step 300.) The order of A and B is not learnt at all: guessing would be as good. The two lines of recall
# jump between 0 and 100 % because a model that cannot tell the orders apart gives nearly all pairs the same label.

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert abs(before.mlm_loss - 7.6) < 0.1
assert before.mlm_loss > alike
assert abs(after.mlm_loss - 5.4) < 0.1
assert abs(after.mlm_loss - by_frequency) < 0.1
assert abs(after.sop_accuracy - 0.5) < 0.06

# %% [markdown]
# ## What has it learnt?
#
# A loss equal to that of guessing by frequency does not prove that the model guesses by frequency. So let it fill in
# three words that have nothing in common, and compare its probabilities with the words' frequencies.

# %%
texts = (
    "she slapped the [MASK] on the trough .",
    "then boris [MASK] some soup with edda .",
    "[MASK] greeted jasper at the small corner .",
)
filled = [train.fill(result.model, tokenizer, text, top=tokenizer.vocab_size) for text in texts]
chances = [dict(found.guesses[0]) for found in filled]
print("word frequency   its probability in each")
for i in np.argsort(-share)[:5]:
    word = tokenizer.pieces[i]
    print(f"{word:5}{share[i]:9.3f}", *(f"{chance[word]:8.3f}" for chance in chances))

everywhere = np.array([[chance[word] for word in worlds.words()] for chance in chances])
wanted = share[5:]

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert all(not found.notes for found in filled)      # every word is known
assert all(found.guesses[0][0].piece == "the" for found in filled)
assert abs(everywhere - wanted).max() < 0.03
assert np.abs(everywhere - everywhere[0]).max() < 0.01

# %% [markdown]
# The three answers are one answer: no probability differs by as much as 0.01 between the sentences, and none is as far
# as 0.03 from the word's frequency. Its first guess is `the`, both before `on` and after `boris`. The model has learnt
# **how frequent words are, and nothing of how they follow each other**. That is not a fault of the code. Gradient
# descent finds frequencies first, and most models stay at that line for a while. Where the line is, and whether a run
# has left it, is the first thing to ask of any training curve.
#
# ## A model that has learnt it
#
# minalbert comes with a small ALBERT that was trained as `minalbert demo` trains one: two layers, some two minutes, on
# easier stories. `train.open_trained()` opens it. Here are three sentences of stories that it has not read, each with
# a hidden word, and then two that follow each other, in order and swapped.

# %%
learnt, its_tokenizer, _ = train.open_trained()
print(f"{learnt.params.flat.size:,} weights")
for text in ("franz dunked the [MASK] in the tub .", "then olga ironed the [MASK] on a blanket .",
             "she [MASK] the bastion above the ditch ."):
    guesses = train.fill(learnt, its_tokenizer, text, top=3).guesses[0]
    print(text, "  ".join(f"{piece} {probability:.0%}" for piece, probability in guesses), sep="\n  ")

first, second = "franz dunked the cotton in the tub .", "now franz wrung the worn aprons through the press ."
for pair in ((first, second), (second, first)):
    print(*(textwrap.fill(part, 42, subsequent_indent="  ") for part in pair), sep="\n")
    print(f"  swapped: {train.swapped(learnt, its_tokenizer, *pair):.0%}")

in_order, turned = (train.swapped(learnt, its_tokenizer, *pair) for pair in ((first, second), (second, first)))

# %% tags=["remove-cell"] jupyter={"source_hidden": true}
assert in_order < 0.1 < 0.9 < turned

# %% [markdown]
# Now each sentence has an answer of its own.
#
# ## Next
#
# * `minalbert demo` trains such a model: the loss leaves the line, and the order is found.
# * The next notebook counts weights, operations and memory, and says what sharing saves and what it does not.
# * Every gradient behind this loss is written by hand. Write the first yourself: `minalbert exercise start ex01` builds
#   the gradient check that judges all others, and `ex08` makes instances like the one above.
