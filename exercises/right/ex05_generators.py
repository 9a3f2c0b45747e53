def finish(running, dy):
    try:
        running.send(dy)
    except StopIteration as stop:
        return stop.value


def softmax_of(x):
    y = np.exp(x - x.max(axis=-1, keepdims=True))
    y = y / y.sum(axis=-1, keepdims=True)
    dy = yield y
    return y * dy - y * np.sum(y * dy, axis=-1, keepdims=True)


def attention_of(q, k, v, mask):
    scale = 1 / np.sqrt(q.shape[-1])
    running = softmax_of(scale * np.matmul(q, k.transpose(0, 1, 3, 2)) + mask)
    p = next(running)
    dcontext = yield np.matmul(p, v)
    ds = scale * finish(running, np.matmul(dcontext, v.transpose(0, 1, 3, 2)))
    return np.matmul(ds, k), np.matmul(ds.transpose(0, 1, 3, 2), q), np.matmul(p.transpose(0, 1, 3, 2), dcontext), None


def softmax_forward(x):
    running = softmax_of(x)
    return next(running), running


def attention_forward(q, k, v, mask):
    running = attention_of(q, k, v, mask)
    return next(running), running


def softmax_backward(dy, cache):
    return finish(cache, dy)


def attention_backward(dcontext, cache):
    return finish(cache, dcontext)
