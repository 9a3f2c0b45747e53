def linear_forward(x, w, b):
    rows = [
        [sum(row[i] * w[i, o] for i in range(len(w))) + b[o] for o in range(len(b))] for row in x.reshape(-1, len(w))
    ]
    return np.array(rows).reshape(*x.shape[:-1], len(b)), [x.copy(), w.copy()]


def linear_backward(dy, cache):
    x, w = cache
    dx, dw, db = np.zeros_like(x), np.zeros_like(w), np.zeros(w.shape[1])
    for place in np.ndindex(dy.shape[:-1]):
        dx[place] = w @ dy[place]
        dw += np.outer(x[place], dy[place])
        db += dy[place]
    return [dx, dw, db]


def embedding_forward(ids, types, word, position, token_type):
    B, T = ids.shape
    y = np.empty((B, T, word.shape[1]))
    for b in range(B):
        for t in range(T):
            y[b, t] = word[ids[b, t]] + position[t] + token_type[types[b, t]]
    return y, (ids, types, np.zeros_like(word), np.zeros_like(position), np.zeros_like(token_type))


def embedding_backward(dy, cache):
    ids, types, dword, dposition, dtoken_type = cache[0], cache[1], *(table.copy() for table in cache[2:])
    for b, t in np.ndindex(ids.shape):
        dword[ids[b, t]] += dy[b, t]
        dposition[t] += dy[b, t]
        dtoken_type[types[b, t]] += dy[b, t]
    return None, None, dword, dposition, dtoken_type
