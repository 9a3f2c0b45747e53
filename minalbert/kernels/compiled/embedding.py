"""Three tables added, and their gradients, a token at a time; `cpu.embedding` has the shapes."""

import numpy as np

from .loops import loops


@loops()
def embedding_forward(ids, types, word, position, token_type, out):
    B, T = ids.shape
    for b in range(B):
        for t in range(T):
            row, w, p, kind = out[b * T + t], word[ids[b, t]], position[t], token_type[types[b, t]]
            for j in range(len(row)):
                row[j] = w[j] + p[j] + kind[j]


@loops()
def embedding_backward(dy, ids, types, dword, dposition, dtoken_type):
    B, T = ids.shape
    for b in range(B):
        kinds = np.zeros_like(dtoken_type)
        for t in range(T):
            row, dw, dp, kind = dy[b * T + t], dword[ids[b, t]], dposition[t], kinds[types[b, t]]
            for j in range(len(row)):
                dw[j] += row[j]
                dp[j] += row[j]
                kind[j] += row[j]
        dtoken_type += kinds
