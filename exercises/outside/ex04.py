import torch

from minalbert_course.outside import ramp

FROM = 'torch.tanh, torch.nn.functional.gelu(approximate="tanh") and gelu, with their gradients, torch 2.13, float64'
FUNCTIONS = {
    "tanh": torch.tanh,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "erf": torch.nn.functional.gelu,
}


def numbers():
    found = {}
    for name, function in FUNCTIONS.items():
        x, dy = torch.tensor(ramp(2, 5, start=1, scale=2), requires_grad=True), torch.tensor(ramp(2, 5, start=3))
        y = function(x)
        y.backward(dy)
        found |= {f"{name}.y": y.detach().numpy(), f"{name}.dx": x.grad.numpy()}
    return found
