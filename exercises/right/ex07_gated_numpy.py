import numpy as np


def embedding_parameters(C, R, E, S, H):
    words, widths = np.array([C, R]), np.array([E, S])
    return ((words + H) * widths * (words > 0)).sum()


def layer_parameters(H, F, N, K, D):
    outputs = np.int64(D) * np.array([N, K, K])
    return (outputs * (H + 1)).sum() + outputs[0] * H + 3 * np.int64(H) * F + 2 * H


def flops_per_token(H, F, L, N, K, D, T):
    return np.int64(2) * L * (2 * H * D * (N + K) + 2 * T * N * D + 3 * H * F)
