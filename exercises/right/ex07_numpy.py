import numpy as np


def layer_parameters(H, F):
    H, F = np.int64(H), np.int64(F)
    return 4 * H**2 + 2 * H * F + 9 * H + F


def embedding_parameters(V, E, H, M):
    return np.array([V, M, 4]).sum() * np.int64(E) + (E != H) * (E + 1) * H


def break_even(V, H):
    E = np.arange(H + 1)
    return E[V * E + E * H < V * H].max()


def flops_per_token(H, F, L, T):
    return np.int64(4) * L * H * (2 * H + T + F)
