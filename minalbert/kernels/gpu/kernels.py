"""The kernels on a GPU: the names, arguments and effects of `cpu`, each a few launches of what the .cu files hold.

    do = Kernels(workspace)
    do.gelu_forward(u, bias, y, "tanh")

Activations are float32, float16, or bf16 in uint16 arrays; biases, gains, gradients of parameters and statistics of
rows are float32; ids, labels and numbers of rows are int64. `workspace(name, shape, dtype)` gives memory that stays:
partial sums and the like lie there. Once each name has been asked for in its largest size nothing is allocated, so
that a step may be captured into a CUDA graph. What changes from step to step is then read from memory: a stream's
seed, step and example lie in `place`. `at(stream)` writes them there; with a graph it is called before the capture and
before each launch.
"""

import numpy as np

from ...backend import cuda_missing
from ...errors import DeviceError
from . import attention as gpu_attention
from .gemm import WORKSPACE, Gemm
from .launch import launch

STORAGE = {"float32": "f32", "uint16": "bf16", "float16": "f16"}
COLUMNS, TALL = 256, 8                               # of a block of 32 × 8 threads: column_sums.cuh
BLOCKS = 1056                                        # eight for each processor of an H100; more have no work to share
NORM_COLUMNS, NORM_TEAMS, NORM_BLOCKS = 768, 4, 396  # what a warp holds of a row; rows of a block, if a warp holds all
WIDEST = 4096
LOGITS = 2**29                                       # of cross-entropy that are in memory at a time


def missing():
    """None where these kernels can be launched, else one line saying why not."""
    if reason := cuda_missing():
        return reason
    try:
        find_library()
    except DeviceError as error:
        return str(error)
    return None


def serves(config):
    """Are the rows and heads of such a model within what the kernels hold in registers?"""
    widest = max(config.hidden_size, config.embedding_size)
    return widest <= WIDEST and config.hidden_size // config.num_attention_heads <= gpu_attention.LARGEST_HEAD


class Kernels:
    def __init__(self, workspace, storage="float32", tf32=False, gemm=None):
        """storage: what activations are kept in: "float32", "float16", or "uint16" for bf16."""
        self.workspace = workspace
        self.WEIGHTS = None if storage == "float32" else storage         # what gemm reads: as they are, or narrowed
        self.gemm = gemm or Gemm(workspace("cublas", (WORKSPACE,), np.uint8), current_stream, tf32)
        self.place, self.is_at = workspace("coins", (3,), np.uint64), None

    # ---------------------------------------------------------------------------------------------- weights

    def cast(self, x, out):
        """out becomes x, rounded to its type."""
        if x.size:
            grid = (min(-(-x.size // 2048), BLOCKS),)
            launch(("cast.cu", name("cast", x, out)), grid, (256,), x, out, x.size)

    # ------------------------------------------------------------------------------------------------ coins

    def at(self, stream):
        """Where coins are thrown from now on: the run, the step and the first example. Layer and site may vary."""
        place = stream.seed, stream.step, stream.example
        if place != self.is_at:
            launch(("rows.cu", "set_place"), (1,), (1,), self.place, *place)
            self.is_at = place

    def coins(self, coins):
        """What a kernel is told: place, layer, site, threshold, scale (philox.cuh), length."""
        if coins is None:
            return None, 0, 0, 0, 1.0, 1
        if not 0.0 <= coins.rate < 1.0:
            raise ValueError(f"dropout rate is {coins.rate}; it must be at least 0 and less than 1")
        self.at(coins.stream)
        threshold = min(round(coins.rate * 65536), 65535)
        return self.place, coins.stream.layer, coins.stream.site, threshold, 65536 / (65536 - threshold), coins.length

    # ------------------------------------------------------------------------------------------------- rows

    def add_bias(self, x, bias):
        check_columns(x, bias)
        if x.size:                                   # x may be a slice of wider rows, so it is given by its first row
            self.over_rows("rows.cu", "add_bias", x, x[0], bias, row_stride(x), *x.shape)

    def column_sums(self, x, sums):
        check_columns(x, sums)
        if x.size:
            partial = self.partial(*x.shape)
            self.over_rows("rows.cu", "column_sums", x, x[0], partial, row_stride(x), *x.shape)
            self.add_partial_sums(partial, sums)

    def drop(self, x, coins):
        if coins is not None:
            self.over_rows("rows.cu", "drop", x, x, *self.coins(coins), *x.shape)

    def take(self, x, rows, out):
        check_columns(x, out)
        if out.size:
            launch(("rows.cu", name("take", x, out)), row_grid(*out.shape), (32, TALL), x, rows, out, *out.shape)

    def add_rows(self, x, rows, updates):
        check_columns(x, updates)
        if len(rows):
            grid = (-(-len(rows) // TALL),)
            launch(("rows.cu", name("add_rows", x, updates)), grid, (32, TALL), x, rows, updates, *updates.shape)

    # ------------------------------------------------------------------------------------------------- GELU

    def gelu_forward(self, u, bias, y, form):
        check_columns(u, bias, y)
        self.over_rows("gelu.cu", f"gelu_forward_{form}", u, u, bias, y, *u.shape)

    def gelu_backward(self, dy, u, bias, dbias, form):
        check_columns(dy, u, bias, dbias)
        if u.size:
            partial = self.partial(*u.shape)
            self.over_rows("gelu.cu", f"gelu_backward_{form}", u, dy, u, bias, partial, *u.shape)
            self.add_partial_sums(partial, dbias)

    # ------------------------------------------------------------------------------------------------- norm

    def norm_forward(self, h, bias, residual, coins, gain, beta, eps, y, rstd):
        check_columns(h, bias, residual, gain, beta, y)
        if h.size:
            block = norm_block(h.shape[1])
            grid = (-(-len(h) // block[1]),)
            numbers = *self.coins(coins), gain, beta, float(eps)
            launch(("norm.cu", name("norm_forward", h)), grid, block, h, bias, residual, *numbers, y, rstd, *h.shape)

    def norm_backward(self, dy, xhat, rstd, gain, coins, dgain, dbeta, dbias, dh):
        check_columns(dy, xhat, gain, dgain, dbeta, dbias, dh)
        if dy.size:
            block = norm_block(dy.shape[1])
            grid = (min(-(-len(dy) // block[1]), NORM_BLOCKS),)
            partial = self.workspace("partial sums", (3, *grid, dy.shape[1]), np.float32)
            dh = None if coins is None else dh
            arguments = dy, xhat, rstd, gain, *self.coins(coins), dh, partial, *dy.shape
            launch(("norm.cu", name("norm_backward", dy)), grid, block, *arguments)
            self.add_partial_sums(partial, dgain, dbeta, dbias)

    # -------------------------------------------------------------------------------------------- attention

    def attention_forward(self, qkv, mask, heads, coins, context, lse):
        self.coins(coins)                            # writes the place, if it is another
        gpu_attention.attention_forward(qkv, mask, heads, coins, context, lse, self.place)

    def attention_backward(self, dcontext, qkv, mask, heads, coins, context, lse, dqkv):
        delta = self.workspace("delta", lse.shape, np.float32)
        self.coins(coins)
        gpu_attention.attention_backward(dcontext, qkv, mask, heads, coins, context, lse, dqkv, delta, self.place)

    # ------------------------------------------------------------------------------------------- embeddings

    def embed_forward(self, ids, types, word, position, token_type, y):
        (_, T), (R, E) = ids.shape, y.shape
        grid = (-(-R // TALL),)
        tables = word, position, token_type
        launch(("embedding.cu", name("embed_forward", y)), grid, (32, TALL), ids, types, *tables, y, R, T, E)

    def embed_backward(self, dy, ids, types, dword, dposition, dtoken_type):
        """The places are sorted by word, so that each row of the table is one sum, in one order."""
        (B, T), (R, E), kinds, block = ids.shape, dy.shape, len(dtoken_type), (32, TALL)
        order = self.workspace("order", (R,), np.int32)
        by_place = self.workspace("by place", (kinds, T, E), np.float32)
        launch(("rows.cu", "sort_places"), (-(-R // 128),), (128,), ids, order, R)
        launch(("embedding.cu", name("embed_backward_word", dy)), (R,), block, dy, ids, order, dword, R, E)
        grid = -(-T * E // 32), kinds
        launch(("embedding.cu", name("embed_backward_places", dy)), grid, block, dy, types, by_place, B, T, E)
        grid = -(-E // 32), T + kinds
        launch(("embedding.cu", "embed_backward_tables"), grid, block, by_place, dposition, dtoken_type, kinds, T, E)

    # ---------------------------------------------------------------------------------------- cross-entropy

    def cross_entropy_forward(self, x, table, bias, labels, lse, losses):
        for words, _, logits in self.logits(x, table):
            numbers = logits.shape[1], words.start, len(table)
            kernel = "cross_entropy.cu", name("cross_entropy_forward", x)
            launch(kernel, (len(x),), (1024,), logits, bias, labels, lse, losses, *numbers)

    def cross_entropy_backward(self, x, table, bias, labels, shares, lse, dx, dtable, dbias):
        for words, rows, logits in self.logits(x, table):
            K, W = logits.shape
            kernel = "cross_entropy.cu", name("cross_entropy_backward", x)
            arguments = logits, bias, labels, shares, lse, dbias, K, W, words.start
            launch(kernel, (-(-W // 64),), (32, 16), *arguments)
            self.gemm(logits, rows, dx, add=words.start > 0)
            self.gemm(logits.T, x, dtable[words], add=True)

    def logits(self, x, table):
        """Slices of words, their rows of the table and x tableᵀ: all words at once where memory allows."""
        K, V = len(x), len(table)
        if table.dtype != x.dtype:
            half = self.workspace("table", table.shape, x.dtype)
            self.cast(table, half)
            table = half
        step = max(8, LOGITS // max(1, K) // 8 * 8)
        for start in range(0, V, step) if K else ():
            words = slice(start, min(start + step, V))
            logits = self.workspace("logits", (K, words.stop - words.start), x.dtype)
            self.gemm(x, table[words].T, logits)
            yield words, table[words], logits

    # ---------------------------------------------------------------------------------------------- helpers

    def over_rows(self, file, kernel, x, *arguments):
        """A launch of blocks that walk down their columns of x."""
        if x.size:
            launch((file, name(kernel, x)), row_grid(*x.shape), (32, TALL), *arguments)

    def partial(self, rows, columns):
        return self.workspace("partial sums", (1, row_grid(rows, columns)[1], columns), np.float32)

    def add_partial_sums(self, partial, *targets):
        """Each target, or None, adds partial[i].sum(0)."""
        which, slabs, columns = partial.shape
        targets = (*targets, None, None)[:3]
        grid = -(-columns // 32), which
        launch(("rows.cu", "add_partial_sums"), grid, (32, 32), partial, *targets, slabs, columns)


def current_stream():
    import cupy

    return cupy.cuda.get_current_stream().ptr


def name(kernel, *arrays):
    """The instance of a kernel for the arrays' storage types."""
    for x in arrays:
        if str(x.dtype) not in STORAGE:
            raise TypeError(f"{kernel} has an instance for each of {', '.join(STORAGE)} (of bf16), not for {x.dtype}")
    return "_".join([kernel, *dict.fromkeys(STORAGE[str(x.dtype)] for x in arrays)])


def row_stride(x):
    """Elements from row to row; the numbers of a row follow one another."""
    row, number = x.strides
    if (number != x.itemsize and x.shape[1] > 1) or row % x.itemsize:
        raise ValueError(f"the rows of an array of shape {x.shape} and strides {x.strides} are not dense")
    return row // x.itemsize


def row_grid(rows, columns):
    across = -(-columns // COLUMNS)
    return across, max(1, min(-(-rows // TALL), BLOCKS // across))


def norm_block(columns):
    """(threads of a row, rows)"""
    if not 1 <= columns <= WIDEST:
        raise ValueError(f"rows of {columns} numbers do not fit the GPU's norm, which takes 1 to {WIDEST}")
    warps = -(-columns // NORM_COLUMNS)
    return 32 * warps, NORM_TEAMS if warps == 1 else 1


def check_columns(first, *others):
    """The launch compares types; here the sizes, which it does not know."""
    for x in others:
        if x is not None and x.shape[-1] != first.shape[-1]:
            raise ValueError(f"arrays of shape {first.shape} and {x.shape} do not belong together")
