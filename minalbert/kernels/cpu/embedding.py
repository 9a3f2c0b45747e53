"""Three tables added, and their gradients; `layers.embedding` has the formulas.

ids, types: (B, T)   word: (V, E)   position: (M, E)   token_type: (2, E)   out, dy: (B·T, E)

Backward adds dy's rows into the rows of the tables that were looked up. Sorted by word, the rows of one word
lie side by side, and each run of them is one sum: no row of the table is fetched twice.
"""

import numpy as np


def embedding_forward(ids, types, word, position, token_type, *, out):
    np.take(word, ids.ravel(), axis=0, out=out)
    examples = out.reshape(*ids.shape, -1)
    examples += position[: ids.shape[1]]
    examples += token_type[types]


def embedding_backward(dy, ids, types, *, dword, dposition, dtoken_type):
    _add_runs(dy, ids.ravel(), out=dword)
    dposition[: ids.shape[1]] += dy.reshape(*ids.shape, -1).sum(axis=0)
    for kind in range(len(dtoken_type)):
        dtoken_type[kind] += (types.ravel() == kind).astype(dy.dtype) @ dy


def _add_runs(updates, rows, *, out):
    order = np.argsort(rows, kind="stable")
    rows = rows[order]
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    out[rows[starts]] += np.add.reduceat(updates[order], starts, axis=0)
