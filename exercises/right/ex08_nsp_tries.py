def nsp_pair(documents, number, rng):
    own = documents[number]
    cut = int(rng.choice(np.arange(1, len(own))))
    first = np.concatenate(own[:cut])
    if rng.random() < 0.5:
        return first, np.concatenate(own[cut:]), False
    other = number
    while other == number:
        other = int(rng.integers(0, len(documents)))
    begin = int(len(documents[other]) * rng.random())
    return first, np.concatenate(documents[other][begin:]), True
