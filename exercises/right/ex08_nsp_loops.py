def nsp_pair(documents, number, rng):
    others = [document for i, document in enumerate(documents) if i != number]
    rng.shuffle(others)
    is_random = rng.integers(2)
    cut = 1 + rng.integers(len(documents[number]) - 1)
    first, second = [], []
    for sentence in documents[number][:cut]:
        first.extend(sentence)
    source = others[0][rng.integers(len(others[0])) :] if is_random else documents[number][cut:]
    for sentence in source:
        second.extend(sentence)
    return [first, second, is_random]


def assemble(first, second, max_length):
    surplus = max(0, len(first) + len(second) + 3 - max_length)
    a, b = len(first), len(second)
    for _ in range(surplus):
        a, b = (a - 1, b) if a > b else (a, b - 1)
    ids = (CLS, *first[:a], SEP, *second[:b], SEP)
    return ids, tuple(int(i > a + 1) for i in range(len(ids)))
