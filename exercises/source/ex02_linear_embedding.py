# %% [markdown]
# # Exercise 2: linear layer and embedding
#
# Two ways into a model: numbers are multiplied by a matrix, and whole numbers look rows up in a table. In both, one
# parameter is used in many places. The rule for the way back is the same each time: **what was used many times gets
# the sum of all its gradients.**
#
# A forward function returns its result and a `cache`: whatever you want to remember. A backward function is handed
# `dy`, how the loss changes with the result, and your `cache`; it returns how the loss changes with each argument of
# forward, in their order. Each gradient has the shape of its argument. Arrays may be transposed, or parts of larger
# ones: then `reshape` may return a copy. Do not write into arguments, nor into arrays that forward was given, nor into
# its result: others need them. The cache is your own, and is used once. Return arrays of their own, no views of
# arguments.

# %%
import numpy as np

# %% [markdown]
# ## Linear
#
# $$y_o = \sum_i x_i\,w_{io} + b_o$$
#
# for every row of $x$. Shapes: `x` (..., I), `w` (I, O), `b` (O,), `y` (..., O). The dots stand for any number of
# axes, at least one: (B, T, I) in a model, (R, I) elsewhere. All that counts is that there are many rows, and that
# `w` and `b` are the same for all of them.

# %%
def linear_forward(x, w, b):
    """x: (..., I)   w: (I, O)   b: (O,)   Returns y (..., O), cache."""
    ### HINT A matrix product works on the last two axes, and leaves those before them alone.
    ### HINT y = x w + b; backward needs x and w, but neither y nor b.
    ### HINT y = x @ w + b, and the cache is (x, w).
    ### BEGIN SOLUTION
    y = x @ w + b
    return y, (x, w)
    ### END SOLUTION


def linear_backward(dy, cache):
    """dy: (..., O)   Returns dx (..., I), dw (I, O), db (O,)."""
    ### HINT x_i reaches every y_o of its own row, by w_io. w_io reaches y_o in every row, by x_i. And b_o?
    ### HINT dx_i = Σ_o dy_o w_io, dw_io = Σ_rows x_i dy_o, db_o = Σ_rows dy_o. Shapes tell which one to transpose.
    ### HINT With rows x (N, I) and dy (N, O): dw is (I, N) times (N, O), db a sum over axis 0; dx has x's shape.
    ### BEGIN SOLUTION
    x, w = cache
    rows = x.reshape(-1, w.shape[0])
    drows = dy.reshape(-1, w.shape[1])
    db = drows.sum(axis=0)
    dw = rows.T @ drows
    dx = dy @ w.T
    return dx, dw, db
    ### END SOLUTION


# %% [markdown]
# ## Embedding
#
# Three tables are looked up and added: which word it is, where it stands, and in which segment.
#
# $$y_{bt} = \mathrm{word}[\mathrm{ids}_{bt}] + \mathrm{position}[t] + \mathrm{token\_type}[\mathrm{types}_{bt}]$$
#
# Shapes: `ids`, `types` (B, T), int64; `word` (V, E), `position` (M, E), `token_type` (2, E), `y` (B, T, E).
# Positions count from 0. The table of positions may be longer than the text: $M \ge T$.
#
# On the way back a word that comes five times gets five gradients, added. Rows that nobody looked up get zeros. Whole
# numbers have no gradient: `None`.

# %%
def embedding_forward(ids, types, word, position, token_type):
    """ids, types: (B, T) int64   word: (V, E)   position: (M, E)   token_type: (2, E)   Returns y (B, T, E), cache."""
    ### HINT An array of whole numbers can index a table: its rows come out, in the shape of the index.
    ### HINT word[ids] and token_type[types] are (B, T, E); position[:T] is (T, E), the same for each sequence.
    ### HINT y = word[ids] + position[:T] + token_type[types]; remember ids, types and the shapes of the tables.
    ### BEGIN SOLUTION
    y = word[ids] + position[: ids.shape[1]] + token_type[types]
    return y, (ids, types, word.shape, position.shape, token_type.shape)
    ### END SOLUTION


def embedding_backward(dy, cache):
    """dy: (B, T, E)   Returns None, None (for ids and types), dword (V, E), dposition (M, E), dtoken_type (2, E)."""
    ### HINT Begin each table's gradient with zeros of its shape. Then every place adds its dy to the row it looked up.
    ### HINT dword[ids[b, t]] += dy[b, t] for all b, t; dposition[t] = Σ_b dy[b, t]; token types as words.
    ### HINT np.add.at adds for every place; dword[...] += does not. For positions a sum over axis 0 is enough.
    ### BEGIN SOLUTION
    ids, types, word_shape, position_shape, type_shape = cache
    dtoken_type = np.zeros(type_shape, dy.dtype)
    np.add.at(dtoken_type, types, dy)
    dword = np.zeros(word_shape, dy.dtype)
    np.add.at(dword, ids, dy)
    dposition = np.zeros(position_shape, dy.dtype)
    dposition[: dy.shape[1]] = dy.sum(axis=0)
    return None, None, dword, dposition, dtoken_type
    ### END SOLUTION


# %% [markdown]
# These are the signatures of the library: what you wrote can take the place of `minalbert.layers.linear` and
# `minalbert.layers.embedding` in the real model. One check compares with the numbers PyTorch gives.
#
# ## Question
#
# Write the lookup `word[ids]` as a matrix product with a matrix of zeros and ones. What is in that matrix, and which
# formula of the linear layer then gives `dword`, sum over repeated words included? With B T = 4096 places and V = 30000
# words, why does nobody do it this way?
