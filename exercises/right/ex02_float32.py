def linear_forward(x, w, b):
    x, w, b = (a.astype(np.float32) for a in (x, w, b))
    return np.dot(x, w) + b[None], (x, w)


def linear_backward(dy, cache):
    x, w = cache
    dy = dy.astype(np.float32)
    dw = sum(np.outer(a, d) for a, d in zip(x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1]), strict=True))
    return np.dot(dy, w.T), dw, np.apply_over_axes(np.sum, dy, range(dy.ndim - 1)).ravel()


def embedding_backward(dy, cache):
    ids, types, word_shape, position_shape, type_shape = cache
    dy = dy.astype(np.float32)
    dword = np.array([dy[ids == v].sum(axis=0) for v in range(word_shape[0])])
    dtoken_type = np.array([dy[types == k].sum(axis=0) for k in range(2)])
    unused = np.zeros((position_shape[0] - dy.shape[1], dy.shape[2]), np.float32)
    return None, None, dword, np.concatenate([dy.sum(axis=0), unused]), dtoken_type
