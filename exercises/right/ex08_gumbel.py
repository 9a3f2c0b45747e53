def order_pair(document, rng):
    cut = 1 + int(np.argmax(rng.gumbel(size=len(document) - 1)))
    parts = [[t for s in document[:cut] for t in s], [t for s in document[cut:] for t in s]]
    swapped = bool(rng.normal() > 0)
    if swapped:
        parts.reverse()
    return parts[0], parts[1], swapped
def mask_tokens(input_ids, rng, vocab_size):
    ordinary = np.argwhere(input_ids > 4).ravel()
    P = max(1, round(np.count_nonzero(input_ids) * 15 / 100))      # as the released program counts
    keys = rng.exponential(size=len(ordinary))
    positions = np.sort(ordinary[np.argpartition(keys, P - 1)[:P]])
    kind = rng.multinomial(1, [0.8, 0.1, 0.1], size=P)
    out = np.array(input_ids)
    new = kind[:, 0] * 4 + kind[:, 1] * out[positions] + kind[:, 2] * rng.choice(np.arange(5, vocab_size), P)
    labels = out[positions].copy()
    out[positions] = new
    return out, positions, labels
def ngram_lengths(count, rng):
    u = rng.random(count) * 11
    return (1 + (u > 6) + (u > 9)).astype(np.int8)
def assemble(first, second, max_length):
    from collections import deque
    a, b = deque(first), deque(second)
    for _ in range(len(a) + len(b) + 3 - max_length):
        (b if len(b) >= len(a) else a).pop()
    ids = np.concatenate([[2], list(a), [3], list(b), [3]]).astype(int)
    return ids, np.arange(len(ids)) > len(a) + 1
