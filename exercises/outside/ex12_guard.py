import torch

from minalbert_course.outside import ramp

FROM = "torch.nn.functional.silu and Tensor.scatter_reduce (mean), torch 2.13, float64"


def numbers():
    x = torch.tensor(ramp(3, 4, scale=2))
    rows = torch.tensor([1, 0, 1])[:, None].expand(3, 4)
    table = torch.zeros(3, 4, dtype=x.dtype).scatter_reduce(0, rows, x, "mean", include_self=False)
    return {"silu": torch.nn.functional.silu(x).numpy(), "scatter_mean": table.numpy()}
