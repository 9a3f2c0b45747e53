"""What this card can do at best, and what its matrix products do in the shapes of a step: 12 of them.

    forward       y  = x w         (R, I) (I, O)
    input         dx = dy wᵀ       (R, O) (O, I)
    weights       dw += xᵀ dy      (I, R) (R, O)        ours adds in float32, PyTorch writes in bf16

for the projection E -> H, the square H -> H (query, key, value, output: the same shape), up H -> F and down F -> H.
"""

import cupy
import numpy as np
from gpu_clock import free, milliseconds

from minalbert.kernels import gpu

KINDS = ("bf16", "TF32")


def gemm(kind):
    return gpu.Kernels(tf32=kind == "TF32").gemm


def numbers(kind, rows, columns):
    """Random ones: a card's clock depends on what it multiplies."""
    block = np.random.default_rng(0).standard_normal(min(rows * columns, 2**20)).astype(np.float32)
    if kind == "bf16":
        block = (block.view(np.uint32) >> 16).astype(np.uint16)
    times = -(-rows * columns // block.size)
    return cupy.tile(cupy.asarray(block), times)[: rows * columns].reshape(rows, columns)


def ceilings(sizes):
    """Bytes a second of a large copy, and operations a second of a large product in each arithmetic."""
    a = cupy.zeros(sizes.copied // 4, np.float32)
    b, n = cupy.empty_like(a), sizes.square

    def copy():
        b[...] = a

    rates = {"copy": 2 * a.nbytes / (milliseconds({"copy": copy}, sizes)["copy"] / 1000)}
    for kind in KINDS:
        x, y, multiply = numbers(kind, n, n), numbers(kind, n, n), gemm(kind)
        out = cupy.empty_like(x)
        call = {kind: lambda multiply=multiply, x=x, y=y, out=out: multiply(x, y, out=out)}
        rates[kind] = 2 * n**3 / (milliseconds(call, sizes)[kind] / 1000)
    free()
    return rates


def shapes(config):
    E, H, F = config.embedding_size, config.hidden_size, config.intermediate_size
    return {"projection": (E, H), "square": (H, H), "up": (H, F), "down": (F, H)}


def table(sizes, torch=None):
    """{tokens: {product: {"bf16", "bf16, PyTorch", "TF32", ...: operations a second}}}"""
    found = {}
    for rows in sizes.rows:
        found[rows] = {}
        for name, (i, o) in shapes(sizes.config).items():
            calls = {kind: ours(kind, rows, i, o) for kind in KINDS}
            if torch:
                calls |= {f"{kind}, PyTorch": theirs(torch, kind, rows, i, o) for kind in KINDS}
            for way in ("forward", "input", "weights"):
                times = milliseconds({kind: products[way] for kind, products in calls.items()}, sizes)
                rates = {kind: 2 * rows * i * o / (time / 1000) for kind, time in times.items()}
                found[rows][f"{name} {i} -> {o}, {way}"] = rates
            del calls
            free(torch)
    return found


def ours(kind, rows, i, o):
    multiply = gemm(kind)
    x, w, dy = numbers(kind, rows, i), numbers(kind, i, o), numbers(kind, rows, o)
    y, dx, dw = cupy.empty_like(dy), cupy.empty_like(x), cupy.zeros((i, o), np.float32)
    return {
        "forward": lambda: multiply(x, w, out=y),
        "input": lambda: multiply(dy, w.T, out=dx),
        "weights": lambda: multiply(x.T, dy, out=dw, add=True),
    }


def theirs(torch, kind, rows, i, o):
    options = {"device": "cuda", "dtype": torch.bfloat16 if kind == "bf16" else torch.float32}
    x, w, dy = (torch.randn(shape, **options) for shape in ((rows, i), (i, o), (rows, o)))
    y, dx, dw = torch.empty_like(dy), torch.empty_like(x), torch.empty_like(w)
    return {
        "forward": lambda: torch.mm(x, w, out=y),
        "input": lambda: torch.mm(dy, w.T, out=dx),
        "weights": lambda: torch.mm(x.T, dy, out=dw),
    }
