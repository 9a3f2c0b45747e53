"""What ranks that share a model send each other in a step: activations, counted from the formula.

    embeddings     forward B T E
    a layer        forward 2 B T H, backward 2 B T H         the attention's sublayer and the FFN's
    MLM loss       forward 2 R B P, backward B P E           log Z and the label's logit of each rank

In the last layer only Q = 1 + P positions go out of a sublayer, [CLS] and the predictions; its attention still reads
all T. A sum of n numbers over R ranks makes 2 (R - 1) n leave them. Recomputation runs forward again for each layer.
Nothing here depends on whether layers share their weights.
"""

from ..parallel.rank_sum import bytes_sent


def bytes_of_step(config, batch, length, predictions, ranks, recompute=0, itemsize=4):
    """By all ranks of one model together, for `batch` sequences of this length with so many predictions each."""
    E, H, L = config.embedding_size, config.hidden_size, config.num_hidden_layers
    T, Q = batch * length, batch * (1 + predictions)
    forward = 2 * (L - 1) * T * H + 2 * Q * H
    backward = 2 * (L - 1) * T * H + (T + Q) * H     # its FFN wrote Q rows, its attention read T
    losses = 2 * ranks * batch * predictions + batch * predictions * E
    return bytes_sent(T * E + forward * (2 if recompute else 1) + backward + losses, itemsize, ranks)
