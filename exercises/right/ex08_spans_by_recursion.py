def find_words(input_ids, begins):
    words, special = [], True
    for i, (token, begin) in enumerate(zip(input_ids.tolist(), begins.tolist(), strict=True)):
        if token >= 5:
            words = [*words, (i,)] if special or begin else [*words[:-1], (*words[-1], i)]
        special = token < 5
    return tuple(words)


def choose_spans(words, order, lengths, budget, taken=frozenset()):
    if not order or budget <= 0:
        return []
    first, span = order[0], []
    for number in range(first, min(first + lengths[0], len(words))):
        adjoins = not span or words[number][0] == span[-1] + 1
        if not adjoins or len(span) + len(words[number]) > budget:
            break
        span += words[number]
    if not span or taken & set(span):
        return choose_spans(words, order[1:], lengths[1:], budget, taken)
    return [span, *choose_spans(words, order[1:], lengths[1:], budget - len(span), taken | set(span))]
