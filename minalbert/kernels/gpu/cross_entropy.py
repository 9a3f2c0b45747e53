"""The launches of cross_entropy.cu, with matrix products between; `cpu.cross_entropy` has what they compute."""

from .launch import launch
from .tiles import instance

LOGITS = 2**29                                       # that are in memory at a time


def cross_entropy_forward(gpu, x, table, bias, labels, *, lse, losses):
    for words, _, logits in logit_tiles(gpu, x, table):
        numbers = logits.shape[1], words.start, len(table)
        kernel = "cross_entropy.cu", instance("cross_entropy_forward", x)
        launch(kernel, (len(x),), (1024,), logits, bias, labels, lse, losses, *numbers)


def cross_entropy_backward(gpu, x, table, bias, labels, shares, lse, *, dx, dtable, dbias):
    for words, rows, logits in logit_tiles(gpu, x, table):
        K, W = logits.shape
        kernel = "cross_entropy.cu", instance("cross_entropy_backward", x)
        launch(kernel, (-(-W // 64),), (32, 16), logits, bias, labels, shares, lse, dbias, K, W, words.start)
        gpu.gemm(logits, rows, out=dx, add=words.start > 0)
        gpu.gemm(logits.T, x, out=dtable[words], add=True)


def logit_tiles(gpu, x, table):
    """Slices of words, their rows of the table and x tableᵀ: all words at once where memory allows."""
    K, V = len(x), len(table)
    if table.dtype != x.dtype:
        narrow = gpu.scratch("table", table.shape, x.dtype)
        gpu.cast(table, out=narrow)
        table = narrow
    step = max(8, LOGITS // max(1, K) // 8 * 8)
    for start in range(0, V, step) if K else ():
        words = slice(start, min(start + step, V))
        logits = gpu.scratch("logits", (K, words.stop - words.start), x.dtype)
        gpu.gemm(x, table[words].T, out=logits)
        yield words, table[words], logits
