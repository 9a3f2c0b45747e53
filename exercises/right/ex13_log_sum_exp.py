def fill_mask(logits, words, k):
    log_p = logits - np.logaddexp.reduce(logits)
    best = sorted(range(len(words)), key=lambda i: -log_p[i])[:k]
    return [(words[i], float(np.exp(log_p[i]))) for i in best]
