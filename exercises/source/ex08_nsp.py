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
# array, a label as 0 and 1 or False and True. Arrays of ids that you are given are of int64 or int32. Do not write
# into arguments. What one call draws is independent: where the cut is says nothing of the label, and what becomes of
# one token nothing of another.

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
    """documents: a list of at least two documents, each a list of sentences, each a list of one or more token ids
    number: which of them the pair begins with; it has at least two sentences

    Returns first, second: the token ids of both parts, each one list; and is_random: 0 if second is what follows
    first in its document, 1 if it comes from another.
    """
    ### HINT Up to four draws: the cut, next or not, and for half of the pairs which other document, and from where on.
    ### HINT To draw another than `number` among D: draw from D - 1, and add 1 to what is not below `number`.
    ### HINT rng.integers leaves its end out. Draw among D - 1; from `number` on, one more. Then draw a sentence.
    ### BEGIN SOLUTION
    document = documents[number]
    cut = int(rng.integers(1, len(document)))
    first, rest = document[:cut], document[cut:]
    is_random = int(rng.integers(2))
    if is_random:
        other = int(rng.integers(len(documents) - 1))
        other += other >= number
        begin = int(rng.integers(len(documents[other])))
        rest = documents[other][begin:]
    return list(chain(*first)), list(chain(*rest)), is_random
    ### END SOLUTION


# %% [markdown]
# ## One input of two parts
#
# `[CLS] first [SEP] second [SEP]`, at most `max_length` tokens. While that is too long, the longer of the two parts
# loses its last token; where both are equally long, the second does. (`max_length` is at least 5, and a part may have
# thousands of tokens.) The token types are 0 from `[CLS]` to the first `[SEP]`, and 1 after it.

# %%
def assemble(first, second, max_length):
    """first, second: lists of token ids, not empty   Returns input_ids, token_type_ids, equally long."""
    ### HINT Shorten first, then put together: what is put on last must not be cut off. Three tokens are always there.
    ### HINT While len(a) + len(b) > max_length - 3, the longer one loses its last token. Types: len(a) + 2 zeros.
    ### HINT Of copies, pop() from a if len(a) > len(b), else from b. Types: [0] * (len(a) + 2) + [1] * (len(b) + 1).
    ### BEGIN SOLUTION
    first, second = list(first), list(second)
    while len(first) + len(second) > max_length - 3:
        longer = first if len(first) > len(second) else second
        longer.pop()
    input_ids = [CLS, *first, SEP, *second, SEP]
    token_type_ids = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return input_ids, token_type_ids
    ### END SOLUTION


# %% [markdown]
# ## Masked words
#
# Of the $n$ ordinary tokens of an input, $\max(1, \mathrm{round}(0.15\,n))$ are chosen, all with the same chance,
# none twice, and never a special token. (Where $0.15\,n$ ends in .5, either neighbour will do. ALBERT's released
# program, and notebook 6, take 15 % of all tokens but padding, special ones counted; that is right as well, and
# every input has at least that many ordinary tokens.) Each chosen one becomes, by a draw of its own,
#
# * `[MASK]` with probability 0.8,
# * with probability 0.1 what it is already,
# * with probability 0.1 any ordinary token of the vocabulary, all with the same chance.

# %%
def mask_tokens(input_ids, rng, vocab_size):
    """input_ids: an array (T,), with special tokens, at its end perhaps padding, and at least one ordinary token

    Returns masked_ids (T,), what the model reads; positions (P,), where tokens were chosen, from left to right; and
    labels (P,), which tokens the model must find there.
    """
    ### HINT Which places may be chosen at all? How many of them? Only then: what becomes of each?
    ### HINT Of the places with id >= 5, max(1, round(0.15 n)). For each a uniform u: below 0.8, below 0.9, or above.
    ### HINT rng.choice with replace=False, sorted; rng.random(P) and two nested np.where; write into a copy.
    ### BEGIN SOLUTION
    places = np.flatnonzero(input_ids >= ORDINARY)
    count = max(1, round(0.15 * len(places)))
    positions = np.sort(rng.choice(places, count, replace=False))
    labels = input_ids[positions]
    u = rng.random(count)
    others = rng.integers(ORDINARY, vocab_size, count)
    masked_ids = input_ids.copy()
    masked_ids[positions] = np.where(u < 0.8, MASK, np.where(u < 0.9, labels, others))
    return masked_ids, positions, labels
    ### END SOLUTION


# %% [markdown]
# One check comes from outside: what Hugging Face's `tokenizers` makes of the same parts.
#
# ## Question
#
# Here a random second part runs to its document's end, as the true one does. Suppose instead that it were always a
# single sentence. How could a model then solve the puzzle without reading a word, and what would its accuracy tell you?
# Which other clues, beside what the text says, must the two kinds of pairs not differ in?
