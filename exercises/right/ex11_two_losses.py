def accumulate(model, parts):
    """MLM and SOP apart, each part's sums, float32 at the end."""
    words = [part.mlm_weights.sum() for part in parts]
    rows = [part.input_ids.shape[0] for part in parts]
    loss, gradient = 0.0, 0.0
    for part, n in zip(parts, rows, strict=True):
        both, g_both = model.loss_and_grads(part, totals=Totals(1.0, 1.0))
        sop, g_sop = model.loss_and_grads(part._replace(mlm_weights=0.0 * part.mlm_weights))
        loss += float(both.mlm) / sum(words) + float(sop.sop) * n / sum(rows)
        gradient += (g_both.flat - n * g_sop.flat) / sum(words) + g_sop.flat * (n / sum(rows))
    return loss, gradient.astype(np.float32)


def unigram_loss(counts):
    counts = np.asarray(counts, np.float32)
    counts = counts[counts.nonzero()]
    return np.log(counts.sum()) - (counts @ np.log(counts)) / counts.sum()
