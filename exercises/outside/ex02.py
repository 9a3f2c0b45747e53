import torch
from torch.nn import functional

from minalbert_course.lessons.ex02.linear_embedding import IDS, TYPES
from minalbert_course.outside import ramp

FROM = "torch.nn.functional.linear and embedding, and their gradients, torch 2.13, float64"


def tensor(*shape, start):
    return torch.tensor(ramp(*shape, start=start), requires_grad=True)


def numbers():
    x, w, b = tensor(2, 3, 4, start=1), tensor(4, 5, start=2), tensor(5, start=3)
    y = functional.linear(x, w.T, b)
    y.backward(tensor(2, 3, 5, start=4))

    word, position, token_type = tensor(5, 3, start=5), tensor(6, 3, start=6), tensor(2, 3, start=7)
    places = torch.arange(4).expand(2, 4)
    looked_up = ((torch.tensor(IDS), word), (places, position), (torch.tensor(TYPES), token_type))
    embedded = sum(functional.embedding(rows, table) for rows, table in looked_up)
    embedded.backward(tensor(2, 4, 3, start=8))
    found = {
        "y": y.detach(), "dx": x.grad, "dw": w.grad, "db": b.grad, "embedded": embedded.detach(),
        "dword": word.grad, "dposition": position.grad, "dtoken_type": token_type.grad,
    }  # fmt: skip
    return {name: value.numpy() for name, value in found.items()}
