import numpy as np


def of_int64(function):
    return lambda *sizes: int(function(*map(np.int64, sizes)))


@of_int64
def embedding_parameters(C, R, E, S, H):
    return C * E + E * H + (R * S + S * H if R else 0)


@of_int64
def layer_parameters(H, F, N, K, D):
    return (2 * H * N + N + 2 * K * H + 2 * K) * D + 3 * H * F + 2 * H


@of_int64
def training_bytes(parameters, W):
    return 4 * parameters + 12 * (-(-parameters // W))


@of_int64
def flops_per_token(H, F, L, N, K, D, T):
    sequence = 4 * T * H * D * (N + K) + 4 * T * T * D * N + 6 * T * H * F
    return L * sequence // T


@of_int64
def gated_width(H, F):
    return (2 * H * F + F + H) // (3 * H)
