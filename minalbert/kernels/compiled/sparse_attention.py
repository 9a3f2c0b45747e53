"""Sparse attention by the compiled loops of `attention`; `cpu.sparse_attention` has the tiles."""

import functools

from .. import cpu
from .attention import attention_backward, attention_forward

sparse_attention_forward = functools.partial(cpu.sparse_attention_forward, attend=attention_forward)
sparse_attention_backward = functools.partial(cpu.sparse_attention_backward, attend=attention_backward)
