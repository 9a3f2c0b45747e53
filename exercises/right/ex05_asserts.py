given_attention = attention_forward


def attention_forward(q, k, v, mask):
    lowest = (q @ np.swapaxes(k, -1, -2)).min() / np.sqrt(q.shape[-1])
    assert mask.shape == (q.shape[0], 1, 1, q.shape[2])
    assert np.isfinite(mask).all()
    assert ((mask == 0) | (mask <= -10000)).all()
    assert ((mask == 0) | (mask < lowest)).all()
    return given_attention(q, k, v, mask)
