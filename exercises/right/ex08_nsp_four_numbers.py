def nsp_pair(documents, number, rng):
    own = documents[number]
    u = rng.random(4)
    cut = 1 + int(u[0] * (len(own) - 1))
    a = [t for s in own[:cut] for t in s]
    if u[1] < 0.5:
        return a, [t for s in own[cut:] for t in s], 0
    others = documents[:number] + documents[number + 1 :]
    d = others[int(u[2] * len(others))]
    s = int(u[3] * len(d))
    return a, [t for x in d[s:] for t in x], 1
