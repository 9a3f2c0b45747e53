from math import prod


def size(*shapes):
    return sum(map(prod, shapes))


def embedding_parameters(C, R, E, S, H):
    return size((C, E), (E, H), *([(R, S), (S, H)] if R else []))


def layer_parameters(H, F, N, K, D):
    matrices = [(H, N * D), (H, K * D), (H, K * D), (N * D, H), (H, F), (H, F), (F, H)]
    return size(*matrices, (N * D,), (K * D,), (K * D,), (H,), (H,))
