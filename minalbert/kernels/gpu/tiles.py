"""Tiles of a block of threads: its rows and columns, the kernel's instance, and the checks before a launch."""

from .launch import launch

STORAGE = {"float32": "f32", "uint16": "bf16", "float16": "f16"}
COLUMNS, TALL = 256, 8                               # of a block of 32 × 8 threads: column_sums.cuh
BLOCKS = 1056                                        # eight for each processor of an H100; more have no work to share


def instance(kernel, *arrays):
    """The name of a kernel's instance for the arrays' storage types."""
    for x in arrays:
        if str(x.dtype) not in STORAGE:
            raise TypeError(f"{kernel} has an instance for each of {', '.join(STORAGE)} (of bf16), not for {x.dtype}")
    return "_".join([kernel, *dict.fromkeys(STORAGE[str(x.dtype)] for x in arrays)])


def launch_over_rows(file, kernel, x, *arguments):
    """A launch of blocks that walk down their columns of x."""
    if x.size:
        launch((file, instance(kernel, x)), row_grid(*x.shape), (32, TALL), *arguments)


def row_grid(rows, columns):
    across = -(-columns // COLUMNS)
    return across, max(1, min(-(-rows // TALL), BLOCKS // across))


def row_stride(x):
    """Elements from row to row; the numbers of a row follow one another."""
    row, number = x.strides
    if (number != x.itemsize and x.shape[1] > 1) or row % x.itemsize:
        raise ValueError(f"the rows of an array of shape {x.shape} and strides {x.strides} are not dense")
    return row // x.itemsize


def check_columns(first, *others):
    """The launch compares types; here the sizes, which it does not know."""
    for x in others:
        if x is not None and x.shape[-1] != first.shape[-1]:
            raise ValueError(f"arrays of shape {first.shape} and {x.shape} do not belong together")
