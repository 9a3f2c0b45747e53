import numpy as np


def of_int64(function):
    return lambda *sizes: int(function(*map(np.int64, sizes)))


@of_int64
def embedding_parameters(V, E, H, M):
    return E * (V + M + 4) + (H * (E + 1) if E != H else 0)


@of_int64
def layer_parameters(H, F):
    return 4 * (H * H + H) + 2 * H * F + F + H + 4 * H


@of_int64
def flops_per_token(H, F, L, T):
    sequence = L * (8 * T * H * H + 4 * T * T * H + 4 * T * H * F)
    return sequence // T
