"""Three tables added, and their gradients; `layers.embedding` has the formulas.

ids, types: (B, T)   word: (V, E)   position: (M, E)   token_type: (2, E)   out, dy: (B·T, E)

Backward adds dy's rows into the rows of the tables that were looked up.
"""

import numpy as np

from ...backend import add_rows


def embedding_forward(ids, types, word, position, token_type, *, out):
    np.take(word, ids.ravel(), axis=0, out=out)
    examples = out.reshape(*ids.shape, -1)
    examples += position[: ids.shape[1]]
    examples += token_type[types]


def embedding_backward(dy, ids, types, *, dword, dposition, dtoken_type):
    add_rows(dy, ids.ravel(), out=dword)
    dposition[: ids.shape[1]] += dy.reshape(*ids.shape, -1).sum(axis=0)
    for kind in range(len(dtoken_type)):
        dtoken_type[kind] += (types.ravel() == kind).astype(dy.dtype) @ dy
