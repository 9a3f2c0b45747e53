"""The kernels on a GPU, in CUDA C: `Kernels` has the names of `implementation`, each a few launches."""

from ...backend import cuda_missing
from ...errors import DeviceError
from .attention import LARGEST_HEAD
from .gemm import find_library
from .kernels import Kernels
from .norm import WIDEST

STORAGE_AND_TF32 = {
    # precision: (what activations are kept in, do products of float32 round to TF32)
    "full": ("float32", False),
    "tf32": ("float32", True),
    "bf16": ("uint16", False),
    "float16": ("float16", False),
}


def missing():
    """None where these kernels can be launched, else one sentence why not."""
    if reason := cuda_missing():
        return reason
    try:
        find_library()
    except DeviceError as error:
        return str(error)
    return None


def serves(config):
    """True where the rows and heads of such a model are within what the kernels hold in registers."""
    widest = max(config.hidden_size, config.embedding_size)
    return widest <= WIDEST and config.hidden_size // config.num_attention_heads <= LARGEST_HEAD
