def order_pair(document, rng):
    u = rng.random(2)
    cut = 1 + int(u[0] * (len(document) - 1))
    parts = np.concatenate(document[:cut]), np.concatenate(document[cut:])
    return (*parts, np.int8(0)) if u[1] < 0.5 else (parts[1], parts[0], np.int8(1))


def assemble(first, second, max_length):
    first, second = np.array(first), np.array(second)
    room = max_length - 3
    half = min(len(second), room - min(len(first), room - room // 2))
    first, second = first[: room - half], second[:half]
    ids = np.concatenate([[CLS], first, [SEP], second, [SEP]]).astype(np.int32)
    return ids, np.concatenate([np.zeros(len(first) + 2, np.int32), np.ones(len(second) + 1, np.int32)])


def mask_tokens(input_ids, rng, vocab_size):
    keys = np.where(input_ids < ORDINARY, 2.0, rng.random(input_ids.shape))
    count = max(1, int(np.rint(0.15 * (input_ids >= ORDINARY).sum())))
    chosen = np.zeros(len(input_ids), bool)
    chosen[np.argsort(keys)[:count]] = True
    labels = input_ids[chosen]
    fate = rng.choice(3, count, p=(0.8, 0.1, 0.1))
    masked = np.array(input_ids)
    masked[chosen] = np.choose(fate, (np.full(count, MASK), labels, rng.integers(ORDINARY, vocab_size, count)))
    return masked.astype(np.int32), np.nonzero(chosen)[0], labels


def ngram_lengths(count, rng):
    return np.searchsorted([6 / 11, 9 / 11], rng.random(count)) + 1
