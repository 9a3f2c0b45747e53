"""The kernels in NumPy: `KERNELS` names them, `BF16_KERNELS` the same with matrix products of bf16."""

from ..implementation import Implementation, functions_of
from . import bf16
from .attention import attention_backward, attention_forward
from .cross_entropy import cross_entropy_backward, cross_entropy_forward
from .embedding import embedding_backward, embedding_forward
from .gelu import gelu_backward, gelu_forward
from .gemm import cast, gemm
from .norm import norm_backward, norm_forward
from .rows import add_bias, add_rows, column_sums, drop, take

KERNELS = Implementation(**functions_of(globals()))
BF16_KERNELS = KERNELS._replace(gemm=bf16.gemm, cast=bf16.cast, WEIGHTS="uint16")
