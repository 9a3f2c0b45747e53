"""The way back to words: each word scores by how well its embedding matches the prediction.

    logits = x tableᵀ + bias

Backward, a linear map whose matrix is the transpose of one that is used elsewhere:

    dx = dlogits table          dtable = dlogitsᵀ x          dbias = Σ_rows dlogits

x: (..., E)   table: (V, E), the word embeddings   bias: (V,)   logits: (..., V)   cache: x, table

The table is tied: the embedding looked words up in it, so the whole gradient is that part plus dtable.
"""


def decoder_forward(x, table, bias):
    rows = x.reshape(-1, table.shape[1])             # (R, E)
    logits = rows @ table.T                          # (R, V)
    logits += bias
    return logits.reshape(*x.shape[:-1], table.shape[0]), (x, table)


def decoder_backward(dlogits, cache):
    x, table = cache
    rows, drows = x.reshape(-1, table.shape[1]), dlogits.reshape(-1, table.shape[0])

    dbias = drows.sum(axis=0)                        # forward: logits += bias
    dtable = drows.T @ rows                          # forward: logits = x tableᵀ
    dx = (drows @ table).reshape(x.shape)
    return dx, dtable, dbias
