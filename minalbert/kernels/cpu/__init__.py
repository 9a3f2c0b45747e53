"""The kernels in NumPy: `KERNELS` names them, `BF16_KERNELS` the same with matrix products of bf16."""

from ...backend import add_rows
from ..implementation import Implementation
from . import bf16
from .attention import attention_backward, attention_forward
from .cross_entropy import cross_entropy_backward, cross_entropy_forward
from .embedding import embedding_backward, embedding_forward
from .gelu import gelu_backward, gelu_forward
from .gemm import cast, gemm
from .norm import norm_backward, norm_forward, norm_output
from .rows import add_bias, column_sums, drop, take
from .sparse_attention import sparse_attention_backward, sparse_attention_forward

KERNELS = Implementation(
    gemm=gemm,
    cast=cast,
    add_bias=add_bias,
    drop=drop,
    column_sums=column_sums,
    take=take,
    add_rows=add_rows,
    gelu_forward=gelu_forward,
    gelu_backward=gelu_backward,
    norm_forward=norm_forward,
    norm_output=norm_output,
    norm_backward=norm_backward,
    attention_forward=attention_forward,
    attention_backward=attention_backward,
    sparse_attention_forward=sparse_attention_forward,
    sparse_attention_backward=sparse_attention_backward,
    embedding_forward=embedding_forward,
    embedding_backward=embedding_backward,
    cross_entropy_forward=cross_entropy_forward,
    cross_entropy_backward=cross_entropy_backward,
)
BF16_KERNELS = KERNELS._replace(gemm=bf16.gemm, cast=bf16.cast, WEIGHTS="uint16")
