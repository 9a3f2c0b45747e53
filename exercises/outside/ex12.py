import torch

from minalbert_course.outside import ramp

FROM = "torch.nn.functional.gelu (tanh), layer_norm and Tensor.index_add, torch 2.13, float64"


def numbers():
    x, gain, bias = (torch.tensor(array) for array in (ramp(3, 4, scale=2), ramp(4, start=5), ramp(4, start=9)))
    rows = torch.tensor([1, 0, 1])
    found = {
        "gelu": torch.nn.functional.gelu(x, approximate="tanh"),
        "layer_norm": torch.nn.functional.layer_norm(x, (4,), gain, bias, eps=0.1),
        "scatter_add": torch.zeros(3, 4, dtype=x.dtype).index_add(0, rows, x),
    }
    return {name: tensor.numpy() for name, tensor in found.items()}
