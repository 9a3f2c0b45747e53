def order_pair(document, rng):
    places = list(range(1, len(document)))
    rng.shuffle(places)
    cut, parts = places[0], [[], []]
    for i, sentence in enumerate(document):
        parts[i >= cut] += sentence
    swapped = bool(rng.random() < 0.5)
    if swapped:
        parts.reverse()
    return parts[0], parts[1], swapped


def assemble(first, second, max_length):
    room = max_length - 3
    a, b = len(first), len(second)
    while a + b > room:
        if a > b:
            a -= 1
        else:
            b -= 1
    ids = np.array([CLS, *first[:a], SEP, *second[:b], SEP])
    return ids, np.arange(len(ids)) > a + 1


def mask_tokens(input_ids, rng, vocab_size):
    places = [i for i, token in enumerate(input_ids) if token not in (0, 1, CLS, SEP, MASK)]
    rng.shuffle(places)
    places = sorted(places[: max(1, int(len(places) * 0.15 + 0.5))])
    ids, labels = list(input_ids), []
    for i in places:
        labels.append(int(ids[i]))
        coin = rng.random()
        if coin >= 0.2:
            ids[i] = MASK
        elif coin >= 0.1:
            ids[i] = int(rng.integers(5, vocab_size))
    return ids, places, labels


def ngram_lengths(count, rng):
    lengths = []
    for u in rng.random(count) * 11:
        lengths.append(1 if u < 6 else 2 if u < 9 else 3)
    return lengths
