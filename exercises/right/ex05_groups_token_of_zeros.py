def softmax1_forward(x):
    longer = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
    raised = np.exp(longer - longer.max(axis=-1, keepdims=True))
    return (raised / raised.sum(axis=-1, keepdims=True))[..., :-1], raised / raised.sum(axis=-1, keepdims=True)


def softmax1_backward(dy, cache):
    y, dy = cache, np.concatenate([dy, np.zeros((*dy.shape[:-1], 1))], axis=-1)
    return (y * (dy - (dy * y).sum(axis=-1, keepdims=True)))[..., :-1]
