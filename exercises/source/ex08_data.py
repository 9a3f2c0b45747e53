# %% [markdown]
# # Exercise 8: masked words and sentence order
#
# ALBERT learns from two puzzles that plain text provides for nothing: which words were hidden (MLM), and whether two
# parts of a text stand in their own order (SOP). You make both, for a text that is token ids already: first with
# single tokens, then with words of several pieces, as ALBERT does.
#
# Token ids below 5 are special: `[PAD]` 0, `[UNK]` 1, `[CLS]` 2, `[SEP]` 3, `[MASK]` 4. All others, up to
# `vocab_size - 1`, are ordinary.
#
# `rng` is a NumPy generator (`np.random.default_rng(seed)`). Draw from it alone, in whatever way you like: your answer
# is judged by what holds for every draw, and by how often things happen in many. Ids may come back as a list or an
# array, a label as 0 and 1 or False and True. Arrays of ids that you are given are of int64 or int32. Do not write
# into arguments.

# %%
import numpy as np

CLS, SEP, MASK, ORDINARY = 2, 3, 4, 5

# %% [markdown]
# ## Sentence order
#
# A document of $n \ge 2$ sentences is cut between two of them, each of the $n - 1$ places with the same chance. With
# probability 1/2 the two parts change places. The model must find out whether they did.

# %%
def order_pair(document, rng):
    """document: a list of sentences, each a list of one or more token ids

    Returns first, second: the token ids of two parts, each one list, in the order in which they are read; and
    swapped: 0 if that is their own order, 1 if they changed places.
    """
    ### HINT Two draws: where to cut, and whether to swap. Which cuts leave a sentence on both sides?
    ### HINT The cut is one of 1, ..., n - 1, in sentences. The label is 0 or 1, each with 1/2.
    ### HINT cut = rng.integers(1, n), without n; join document[:cut] and document[cut:]; swapped: rng.integers(2).
    ### BEGIN SOLUTION
    cut = int(rng.integers(1, len(document)))
    first = [token for sentence in document[:cut] for token in sentence]
    second = [token for sentence in document[cut:] for token in sentence]
    swapped = int(rng.integers(2))
    return (second, first, swapped) if swapped else (first, second, swapped)
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
# ## Spans of words
#
# ALBERT masks neighbouring words together, up to three. Short spans are drawn more often:
# $p(n) = \frac{1}{n} \Big/ \sum_{k=1}^{3} \frac{1}{k}$. Here only the lengths are drawn.

# %%
def ngram_lengths(count, rng):
    """count: how many, at least 1

    Returns lengths (count,): whole numbers from 1 to 3, each with its p(n), drawn independently.
    """
    ### HINT Three probabilities that sum to one, then many draws from them.
    ### HINT 1, 1/2, 1/3 divided by their sum, 11/6: p = 6/11, 3/11, 2/11.
    ### HINT rng.choice takes the values 1, 2, 3, how many, and p: an array of three, divided by its sum.
    ### BEGIN SOLUTION
    weights = 1 / np.arange(1, 4)
    return rng.choice([1, 2, 3], count, p=weights / weights.sum())
    ### END SOLUTION


# %% [markdown]
# ## Words of several pieces
#
# A real vocabulary has pieces of words: `un`, `believ`, `able`. A model that is to find `believ` between the other two
# learns little, so all pieces of a word are masked, or none. `begins` says for each token whether it begins a word.
# A word begins where `begins` is True, and also at the first ordinary token of all, or after a special one (a text may
# have been shortened in the middle of a word). It goes on up to the next such token or special token. Special tokens
# belong to no word.

# %%
def find_words(input_ids, begins):
    """input_ids (T,); begins (T,): True where a token begins a word, never at a special token

    Returns the words from left to right: a list of lists, each the positions of a word's tokens.
    """
    ### HINT Go through the tokens once. What must you remember from the token before?
    ### HINT An ordinary token opens a new word if it begins one or if a special token stood before it.
    ### HINT Keep a flag: are you inside a word? A special token clears it; any other opens a word or extends the last.
    ### BEGIN SOLUTION
    words, inside = [], False
    for position, token in enumerate(input_ids):
        if token < ORDINARY:
            inside = False
            continue
        if begins[position] or not inside:
            words.append([])
        words[-1].append(position)
        inside = True
    return words
    ### END SOLUTION


# %% [markdown]
# ## Spans of whole words
#
# Now the spans. All draws are made already: `order` has the numbers of all words, shuffled, and `lengths[i]`, 1 to 3,
# is how many words the span of word `order[i]` has. `budget` is how many *tokens* may be masked in all. Take the words
# as `order` has them. For each:
#
# 1. The span is this word and the words after it, `lengths[i]` together. It ends earlier at the last word of all, and
#    where the next word's first position does not follow directly: there a special token stands between them.
# 2. While the span has more tokens than are left of the budget, it loses its last word.
# 3. If nothing of it remains, or if one of its words is in a span that was chosen before, the whole span is left out.
# 4. Otherwise it is chosen, and its tokens are taken from the budget.
#
# The library does the same with its own draws, and one check compares your spans with those of its instances, span
# for span. (ALBERT's released program lets spans continue past a [SEP].)

# %%
def choose_spans(words, order, lengths, budget):
    """words: as `find_words` returns them; order, lengths: lists, one number for each word; budget: tokens

    Returns the chosen spans in the order of choice: a list of lists, each the positions of all tokens of a span.
    """
    ### HINT What must be known before the next word of `order`: which tokens are taken, and how many may still be?
    ### HINT Collect words while they adjoin and n is not reached; drop from the end while Σ tokens > left; then look.
    ### HINT A list of words as the span, a set of taken positions, a number left. `pop` shortens, `isdisjoint` looks.
    ### BEGIN SOLUTION
    left, taken, spans = budget, set(), []
    for first, n in zip(order, lengths, strict=True):
        span = [words[first]]
        for word in words[first + 1 : first + n]:
            if word[0] != span[-1][-1] + 1:
                break
            span.append(word)
        while sum(map(len, span)) > left:
            span.pop()
        positions = [position for word in span for position in word]
        if positions and taken.isdisjoint(positions):
            spans.append(positions)
            taken.update(positions)
            left -= len(positions)
    return spans
    ### END SOLUTION


# %% [markdown]
# Two checks come from outside: what Hugging Face's `tokenizers` makes of the same parts, and the chances 6/11, 3/11
# and 2/11 of the released ALBERT script (Lan et al., 2020, section 3.1).
#
# ## Question
#
# BERT's second puzzle, NSP, took the second part from another document for half of its pairs. The ALBERT paper (table
# 5) trained with each puzzle and tested on both: trained on NSP, a model solves 90.5 % of NSP and 52.0 % of SOP;
# trained on SOP, 86.5 % of SOP and 78.9 % of NSP. What do these four numbers say about what each puzzle teaches, and
# why?
