"""The affine map, and with another name ALBERT's factorised projection from E to H.

    y = x w + b

Backward, by the chain rule. y_o = Σ_i x_i w_io + b_o, so x_i reaches the loss through every y_o with the
factor w_io; w_io reaches it through y_o of every row, with the factor x_i; b_o through every row, with 1:

    dx_i = Σ_o dy_o w_io          dw_io = Σ_rows x_i dy_o          db_o = Σ_rows dy_o
    dx   = dy wᵀ                  dw    = xᵀ dy                    db   = Σ_rows dy

x: (..., I)   w: (I, O)   b: (O,)   y: (..., O)   cache: x, w      (I inputs, O outputs, R rows)

Leading axes are flattened to rows first: one matrix product instead of one per batch entry.
"""


def linear_forward(x, w, b):
    rows = x.reshape(-1, w.shape[0])                 # (R, I)
    y = rows @ w                                     # (R, O)
    y += b
    return y.reshape(*x.shape[:-1], w.shape[1]), (x, w)


def linear_backward(dy, cache):
    x, w = cache
    rows, drows = x.reshape(-1, w.shape[0]), dy.reshape(-1, w.shape[1])

    db = drows.sum(axis=0)                           # forward: y += b
    dw = rows.T @ drows                              # forward: y = x w
    dx = (drows @ w.T).reshape(x.shape)
    return dx, dw, db
