"""How the matrices of a product lie in memory: the CPU's bf16 product and the GPU's ask alike."""


def check_product(a, b, out):
    """a: (M, K)   b: (K, N)   out: (M, N)"""
    if not (a.ndim == b.ndim == out.ndim == 2 and a.shape[1] == b.shape[0] and out.shape == (a.shape[0], b.shape[1])):
        raise ValueError(f"a product of {a.shape} and {b.shape} does not fit {out.shape}")


def layout(x):
    """(0, elements from row to row) where the numbers of a row follow one another; (1, from column to column) of a
    column."""
    for transposed, rows in enumerate((x, x.T)):
        (lines, length), (outer, inner) = rows.shape, (stride / x.itemsize for stride in rows.strides)
        if (inner == 1 or length <= 1) and (lines <= 1 or (outer >= length and outer.is_integer())):
            return transposed, max(1, length if lines <= 1 else int(outer))
    raise ValueError(f"a matrix of shape {x.shape} has strides {x.strides}: neither its rows nor its columns are dense")
