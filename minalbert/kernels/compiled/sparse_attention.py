"""Sparse attention by the compiled loops of `attention`; `cpu.sparse_attention` has the tiles."""

import functools

from ..cpu.sparse_attention import backward_in_tiles, forward_in_tiles
from .attention import attention_backward, attention_forward

sparse_attention_forward = functools.partial(forward_in_tiles, attention_forward)
sparse_attention_backward = functools.partial(backward_in_tiles, attention_backward)
