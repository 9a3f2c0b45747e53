def mask_tokens(input_ids, rng, vocab_size):
    """One token after the other, from a permutation."""
    order = [i for i in rng.permutation(len(input_ids)).tolist() if input_ids[i] >= ORDINARY]
    masked, chosen = input_ids.tolist(), []
    while len(chosen) < max(1, round(len(order) * 15 / 100)):
        i = order[len(chosen)]
        chosen.append(i)
        if rng.random() < 0.8:
            masked[i] = MASK
        elif rng.random() < 0.5:
            masked[i] = ORDINARY + int(rng.random() * (vocab_size - ORDINARY))
    return masked, sorted(chosen), [int(input_ids[i]) for i in sorted(chosen)]


def ngram_lengths(count, rng):
    return (rng.choice([1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3], count),)
