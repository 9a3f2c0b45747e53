"""The launches of gelu.cu; `cpu.gelu` has what they compute."""

from .rows import add_partial_sums, partial_sums
from .tiles import check_columns, launch_over_rows


def gelu_forward(gpu, u, bias, form, *, out):
    check_columns(u, bias, out)
    launch_over_rows("gelu.cu", f"gelu_forward_{form}", u, u, bias, out, *u.shape)


def gelu_backward(gpu, dy, u, bias, form, *, dbias):
    check_columns(dy, u, bias, dbias)
    if u.size:
        partial = partial_sums(gpu, *u.shape)
        launch_over_rows("gelu.cu", f"gelu_backward_{form}", u, dy, u, bias, partial, *u.shape)
        add_partial_sums(partial, dbias)
