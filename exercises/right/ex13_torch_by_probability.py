def fill_mask(logits, words, k):
    likely = np.exp(logits - np.max(logits))
    p = likely / likely.sum()
    best = sorted(range(len(words)), key=lambda i: p[i], reverse=True)
    return [(words[i], p[i]) for i in best[:k]]
