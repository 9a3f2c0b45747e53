given_masking = mask_tokens


def mask_tokens(input_ids, rng, vocab_size):
    assert 0 <= input_ids.min() <= input_ids.max() < vocab_size
    assert (input_ids >= 5).any()
    return given_masking(input_ids, rng, vocab_size)
