"""The names that every implementation of the kernels has; "becomes" and "adds" are explained in `kernels`."""

from collections.abc import Callable
from typing import NamedTuple


class Implementation(NamedTuple):
    gemm: Callable                                   # (a, b, *, out, add=False)
    cast: Callable                                   # (x, *, out)
    add_bias: Callable                               # (x, bias)
    drop: Callable                                   # (x, dropout)
    column_sums: Callable                            # (x, *, out)
    take: Callable                                   # (x, rows, *, out)
    add_rows: Callable                               # (updates, rows, *, out)
    gelu_forward: Callable                           # (u, bias, form, *, out)
    gelu_backward: Callable                          # (dy, u, bias, form, *, dbias)
    norm_forward: Callable                           # (h, gain, bias, eps, *, linear_bias=None, residual=None,
                                                     #  dropout=None, out, rstd)
    norm_output: Callable                            # (xhat, gain, bias, *, out)
    norm_backward: Callable                          # (dy, xhat, rstd, gain, *, dropout=None, dgain, dbias,
                                                     #  dlinear_bias=None, dh=None)
    attention_forward: Callable                      # (q, k, v, mask, heads, dropout, *, context, lse)
    attention_backward: Callable                     # (dcontext, q, k, v, mask, heads, dropout, context, lse, *,
                                                     #  dq, dk, dv)
    sparse_attention_forward: Callable               # (q, k, v, mask, heads, dropout, pattern, *, context, lse)
    sparse_attention_backward: Callable              # (dcontext, q, k, v, mask, heads, dropout, pattern, context, lse,
                                                     #  *, dq, dk, dv)
    embedding_forward: Callable                      # (ids, types, word, position, token_type, *, out)
    embedding_backward: Callable                     # (dy, ids, types, *, dword, dposition, dtoken_type)
    cross_entropy_forward: Callable                  # (x, table, bias, labels, *, lse, losses)
    cross_entropy_backward: Callable                 # (x, table, bias, labels, shares, lse, *, dx, dtable, dbias)
    WEIGHTS: str | None = None                       # the dtype in which gemm reads weights; None: as they are
    STORAGE: str | None = None                       # the dtype of activations; None: that of the parameters
