import numpy as np

from minalbert.gradcheck import check_pair


def layer_forward(x, w):
    return x @ w, (x, w)


def layer_backward(dy, cache):
    x, w = cache
    dx = dy @ w.T
    dw = x.T @ dy
    # dw = dy.T @ x
    # dw = x.T @ dy / len(x)
    # dw = np.zeros_like(w)
    return dx, dw


draw = np.random.default_rng(0)
x, w = draw.standard_normal((4, 3)), draw.standard_normal((3, 3))
print(check_pair(layer_forward, layer_backward, {"x": x, "w": w}))
