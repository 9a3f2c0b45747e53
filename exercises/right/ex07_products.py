def product(m, k, n):
    return 2 * m * k * n


def flops_per_token(H, F, L, T):
    total = 0
    for _ in range(L):
        total += 4 * product(T, H, H) + product(T, H, T) + product(T, T, H) + product(T, H, F) + product(T, F, H)
    return total // T


def break_even(V, H):
    E = H
    while V * E + E * H >= V * H:
        E -= 1
    return E
