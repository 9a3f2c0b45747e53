def first_difference(ours, theirs, limit):
    for i in range(len(ours)):
        a, b = ours[i].ravel(), theirs[i].ravel()
        for j in range(a.size):
            if np.isnan(a[j]) or abs(float(a[j]) - float(b[j])) > limit:
                return np.int64(i)
    return None


def fill_mask(logits, words, k):
    from minalbert.layers import softmax

    p = softmax(logits.astype(np.float32))
    left, found = list(range(len(words))), []
    while len(found) < k:
        best = max(left, key=lambda i: p[i])
        left.remove(best)
        found.append((str(np.array(words)[best]), p[best]))
    return found
