def find_words(input_ids, begins):
    ids = np.asarray(input_ids)
    ordinary = ids >= ORDINARY
    before = np.concatenate([[False], ordinary[:-1]])
    first = ordinary & (np.asarray(begins, bool) | ~before)
    number = np.cumsum(first)
    return [np.flatnonzero(ordinary & (number == i)) for i in range(1, int(first.sum()) + 1)]


def choose_spans(words, order, lengths, budget):
    size = 1 + max(max(word) for word in words)
    free, chosen = np.ones(size, bool), []
    for i in range(len(order)):
        for n in range(lengths[i], 0, -1):
            span = np.concatenate([np.array(word) for word in words[order[i] : order[i] + n]])
            one = bool((np.diff(span) == 1).all()) and order[i] + n <= len(words)
            if one and len(span) <= budget - (~free).sum():
                if free[span].all():
                    free[span] = False
                    chosen.append(span)
                break
    return chosen
