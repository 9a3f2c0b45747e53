from minalbert import Batch


def accumulate(model, slices):
    def widened(array, width):
        return np.pad(array, [(0, 0), (0, width - array.shape[1])]) if array.ndim == 2 else array

    columns = []
    for arrays in zip(*slices, strict=True):
        width = max(array.shape[-1] for array in arrays)
        columns.append(np.concatenate([widened(array, width) for array in arrays]))
    losses, grads = model.loss_and_grads(Batch(*columns))
    return losses.total, np.array(grads.flat)


def train(model, batches, steps, warmup, peak):
    moments, losses = Moments.zeros(model.params), ()
    for step in range(steps):
        loss, gradient = accumulate(model, [batches[step % len(batches)]])
        grads = model.params.zeros_like()
        grads.flat[...] = gradient / max(1.0, np.linalg.norm(gradient))
        AdamW().step(model.params, grads, moments, learning_rate(step, steps, warmup, peak), step + 1)
        losses = (*losses, loss)
    return losses
