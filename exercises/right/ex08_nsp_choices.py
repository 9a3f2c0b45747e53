import math


def assemble(first, second, max_length):
    room = max_length - 3
    la, lb = len(first), len(second)
    if la + lb > room:
        # the shorter stays whole if it fits in half
        if la <= room // 2 + room % 2 and la <= lb:
            na = la
            nb = room - la
        elif lb <= room // 2 and lb <= la:
            nb = lb
            na = room - lb
        else:
            na = (room + 1) // 2
            nb = room // 2
        la, lb = min(la, na), min(lb, nb)
    ids = np.concatenate([[CLS], first[:la], [SEP], second[:lb], [SEP]]).astype(np.int64)
    types = np.zeros(len(ids), np.int64)
    types[la + 2 :] = 1
    return ids, types


def mask_tokens(input_ids, rng, vocab_size):
    ids = np.asarray(input_ids)
    chance = rng.random(ids.shape)
    chance[ids < 5] = 2
    n = int((ids != 0).sum())                         # as the released program counts
    k = max(1, math.floor(0.15 * n + 0.5))
    pos = np.sort(np.argsort(chance)[:k])
    kind = rng.choice(3, size=k, p=[0.8, 0.1, 0.1])
    random_words = rng.integers(5, vocab_size, size=k)
    out = ids.copy()
    out[pos] = np.where(kind == 0, 4, np.where(kind == 1, ids[pos], random_words))
    return out.tolist(), pos.tolist(), ids[pos].tolist()


def nsp_pair(documents, number, rng):
    d = documents[number]
    c = 1 + int(rng.random() * (len(d) - 1))
    first = np.concatenate(d[:c])
    is_random = bool(rng.integers(0, 2))
    if is_random:
        k = rng.choice([i for i in range(len(documents)) if i != number])
        o = documents[k]
        second = np.concatenate(o[rng.choice(len(o)) :])
    else:
        second = np.concatenate(d[c:])
    return first.tolist(), second.tolist(), is_random
