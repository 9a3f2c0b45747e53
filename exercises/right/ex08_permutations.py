def order_pair(document, rng):
    swapped = rng.permutation(2)[0]
    cuts = list(range(1, len(document)))
    rng.shuffle(cuts)
    cut = cuts[0]
    a, b = [], []
    for s in document[:cut]:
        a.extend(s)
    for s in document[cut:]:
        b.extend(s)
    return (b, a, swapped) if swapped else (a, b, swapped)


def assemble(first, second, max_length):
    while len(first) + len(second) > max_length - 3:
        if len(second) >= len(first):
            second = second[:-1]
        else:
            first = first[:-1]
    ids, types = [], []
    for token in [2, *first, 3]:
        ids.append(token)
        types.append(0)
    for token in [*second, 3]:
        ids.append(token)
        types.append(1)
    return np.array(ids), np.array(types)


def mask_tokens(input_ids, rng, vocab_size):
    input_ids = [int(i) for i in input_ids]
    ordinary = [i for i, t in enumerate(input_ids) if t > 4]
    k = int(np.rint(len(ordinary) * 0.15)) or 1
    positions = sorted(int(i) for i in rng.permutation(ordinary)[:k])
    masked = list(input_ids)
    for p in positions:
        d = rng.integers(10)
        if d == 0:
            masked[p] = int(5 + rng.random() * (vocab_size - 5))
        elif d > 1:
            masked[p] = 4
    return masked, positions, [input_ids[p] for p in positions]


def ngram_lengths(count, rng):
    u = rng.uniform(0, 11, count)
    return 1 + (u >= 6).astype(int) + (u >= 9)
