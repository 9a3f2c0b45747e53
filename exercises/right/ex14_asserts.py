given_head = head_forward


def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    assert kept is None or np.isin(kept, (0, 1)).all()
    return given_head(layers, pooler_w, pooler_b, w, b, kept, rate)
