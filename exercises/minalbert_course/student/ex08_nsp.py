# %% [markdown]
# # Exercise 8: masked words and next sentences
#
# BERT learnt from two puzzles that plain text provides for nothing: which words were hidden (MLM), and whether one
# part of a text follows another, or comes from elsewhere (NSP). You make both, for a text that is token ids already.
#
# Token ids below 5 are special: `[PAD]` 0, `[UNK]` 1, `[CLS]` 2, `[SEP]` 3, `[MASK]` 4. All others, up to
# `vocab_size - 1`, are ordinary.
#
# `rng` is a NumPy generator (`np.random.default_rng(seed)`). Draw from it alone, in whatever way you like: your answer
# is judged by what holds for every draw, and by how often things happen in many. Ids may come back as a list or an
# array, a label as 0 and 1 or False and True. Do not write into arguments.

# %%
from itertools import chain

import numpy as np

CLS, SEP, MASK, ORDINARY = 2, 3, 4, 5

# %% [markdown]
# ## Next sentence
#
# `first` is a document's beginning: its first $c$ sentences, each $c$ from 1 to $n - 1$ with the same chance. With
# probability 1/2, `second` is the rest of the document. Otherwise it comes from another document, each other one with
# the same chance: from one of its sentences, each with the same chance, on to its end.

# %%
def nsp_pair(documents, number, rng):
    """documents: a list of at least two documents, each a list of sentences, each a list of token ids
    number: which of them the pair begins with; it has at least two sentences

    Returns first, second: the token ids of both parts, each one list; and is_random: 0 if second is what follows
    first in its document, 1 if it comes from another.
    """
    raise NotImplementedError("ex08-nsp: nsp_pair is not written yet")


# %% [markdown]
# ## One input of two parts
#
# `[CLS] first [SEP] second [SEP]`, at most `max_length` tokens. While that is too long, the longer of the two parts
# loses its last token; where both are equally long, the second does. (`max_length` is at least 5.) The token types
# are 0 from `[CLS]` to the first `[SEP]`, and 1 after it.

# %%
def assemble(first, second, max_length):
    """first, second: lists of token ids, not empty   Returns input_ids, token_type_ids, equally long."""
    raise NotImplementedError("ex08-nsp: assemble is not written yet")


# %% [markdown]
# ## Masked words
#
# Of the $n$ ordinary tokens of an input, $\max(1, \mathrm{round}(0.15\,n))$ are chosen, all with the same chance, none
# twice, and never a special token. (Where $0.15\,n$ ends in .5, either neighbour will do.) Each chosen one becomes, by
# a draw of its own,
#
# * `[MASK]` with probability 0.8,
# * with probability 0.1 what it is already,
# * with probability 0.1 any ordinary token of the vocabulary, all with the same chance.

# %%
def mask_tokens(input_ids, rng, vocab_size):
    """input_ids: an array (T,), with special tokens and perhaps padding, and at least one ordinary token

    Returns masked_ids (T,), what the model reads; positions (P,), where tokens were chosen, from left to right; and
    labels (P,), which tokens the model must find there.
    """
    raise NotImplementedError("ex08-nsp: mask_tokens is not written yet")


# %% [markdown]
# One check comes from outside: what Hugging Face's `tokenizers` makes of the same parts.
#
# ## Question
#
# Here a random second part runs to its document's end, as the true one does. Suppose instead that it were always a
# single sentence. How could a model then solve the puzzle without reading a word, what would its accuracy tell you, and
# which other clues, beside what the text says, must the two kinds of pairs not differ in?

# %% [markdown]
# *Your answer:*

# %% [markdown]
# ## Check
#
# 10 points: next or random 1.5, fair draws 1, another document 1, layout 1.5, too long 1, as tokenizers 0.5,
# positions 1, labels 1, 80/10/10 1, rng alone, inputs untouched 0.5.
#
# In a terminal: `minalbert exercise check ex08`, and for a hint `minalbert exercise hint ex08`.

# %%
from minalbert_course import check

check("ex08-nsp", globals())
