"""The kernels of `cpu` with their elementwise chains as the loops that they are, compiled by numba: for float32.

NumPy makes an array of every line of a formula. Here a number goes through all lines before the next is fetched.
Matrix products and dropout masks are those of `cpu`; so are the erf form of GELU and whatever is one operation anyway.
Results are those of `cpu` up to rounding. Read in this order: loops, gelu, norm, attention, sparse_attention,
cross_entropy, embedding; then optimisers, which training takes instead of those of `optim`.
"""

from .. import cpu
from .attention import attention_backward, attention_forward
from .cross_entropy import cross_entropy_backward, cross_entropy_forward
from .embedding import embedding_backward, embedding_forward
from .gelu import gelu_backward, gelu_forward
from .norm import norm_backward, norm_forward, norm_output
from .sparse_attention import sparse_attention_backward, sparse_attention_forward

KERNELS = cpu.KERNELS._replace(
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
BF16_KERNELS = KERNELS._replace(gemm=cpu.bf16.gemm, cast=cpu.bf16.cast, WEIGHTS="uint16")
