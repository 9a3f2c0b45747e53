def accumulate(model, slices):
    """MLM and SOP apart, each slice's sums, float32 at the end."""
    words = [batch.mlm_weights.sum() for batch in slices]
    rows = [batch.input_ids.shape[0] for batch in slices]
    loss, gradient = 0.0, 0.0
    for batch, n in zip(slices, rows, strict=True):
        both, g_both = model.loss_and_grads(batch, totals=Totals(1.0, 1.0))
        sop, g_sop = model.loss_and_grads(batch._replace(mlm_weights=0.0 * batch.mlm_weights))
        loss += float(both.mlm) / sum(words) + float(sop.sop) * n / sum(rows)
        gradient += (g_both.flat - n * g_sop.flat) / sum(words) + g_sop.flat * (n / sum(rows))
    return loss, gradient.astype(np.float32)


def unigram_loss(counts):
    counts = np.asarray(counts, np.float32)
    counts = counts[counts.nonzero()]
    return np.log(counts.sum()) - (counts @ np.log(counts)) / counts.sum()
