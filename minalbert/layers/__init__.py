"""Tier 1: the mathematics of ALBERT, one idea per file, every forward beside its backward.

dx is how the loss changes with x: ∂loss/∂x, an array of x's shape. Backpropagation walks from the loss to
the inputs, so a backward function is handed dy, the answer for its output, and finds dx for its inputs by
the chain rule. The contract that every pair keeps:

    y, cache     = f_forward(x, *params, **static)
    dx, *dparams = f_backward(dy, cache)                 gradients in argument order, none for settings

* A gradient has the shape and dtype of its tensor; an integer input has None.
* Neither function modifies its arguments; backward may be called twice with one cache.
* The cache is a value, opaque to all but its pair; its bytes can be counted.
* Randomness is an argument (`backend.DropoutKey`), so that a second forward samples the same dropout mask.
* float32, float64 and complex128 (for the complex-step check), NumPy and CuPy alike, without being told
  which: the dtype follows the input, constants are Python floats (a NumPy scalar would promote).

Nothing here knows the name of a parameter. That is tier 2, `minalbert.model`: it calls these pairs and adds
each parameter's gradient to what that parameter has already.

Read in this order: linear, gelu, erf, softmax, layer_norm, dropout, attention, sparse_attention, embedding,
gather, tanh, decoder, losses, squared_error, binary_cross_entropy.
"""

from .attention import (
    attention_backward,
    attention_forward,
    attention_probs,
    key_mask,
    multi_head_backward,
    multi_head_forward,
)
from .binary_cross_entropy import binary_cross_entropy_backward, binary_cross_entropy_forward
from .decoder import decoder_backward, decoder_forward
from .dropout import dropout_backward, dropout_forward
from .embedding import embedding_backward, embedding_forward
from .gather import gather_backward, gather_forward
from .gelu import GELU, gelu_backward, gelu_erf_backward, gelu_erf_forward, gelu_forward
from .layer_norm import layer_norm_backward, layer_norm_forward
from .linear import linear_backward, linear_forward
from .losses import cross_entropy_backward, cross_entropy_forward
from .softmax import log_softmax, softmax, softmax_backward, softmax_forward
from .sparse_attention import Pattern, sparse_attention_backward, sparse_attention_forward
from .squared_error import squared_error_backward, squared_error_forward
from .tanh import tanh_backward, tanh_forward
