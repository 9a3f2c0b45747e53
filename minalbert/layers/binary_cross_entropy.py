"""Cross-entropy of a yes or no that has one score: log(1 + eᶻ) - z for yes, log(1 + eᶻ) for no.

    loss = Σ_i (log(1 + exp z_i) - label_i z_i) / n      dz_i = (σ(z_i) - label_i) / n      σ(z) = 1 / (1 + e⁻ᶻ)

z, labels: (...,), a label 0 or 1   loss: a 0-d array   cache: z, labels, n

A large z would overflow in exp, so log(1 + eᶻ) is computed as max(z, 0) + log(1 + exp(-|z|)), and σ by tanh.
`total`, a setting, replaces n where the batch is a slice of a larger one.
"""

from ..backend import array_module


def binary_cross_entropy_forward(z, labels, total=None):
    xp = array_module(z)
    labels, total = labels.astype(z.real.dtype), total or z.size
    positive = z.real > 0
    softplus = xp.where(positive, z, 0) + xp.log1p(xp.exp(xp.where(positive, -z, z)))
    return (softplus - labels * z).sum() / total, (z, labels, total)


def binary_cross_entropy_backward(dloss, cache):
    z, labels, total = cache
    sigma = 0.5 * (1 + array_module(z).tanh(0.5 * z))
    return (sigma - labels) * (dloss / total), None
