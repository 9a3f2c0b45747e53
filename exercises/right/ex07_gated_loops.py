def training_bytes(parameters, W):
    shares = [parameters // W + (machine < parameters % W) for machine in range(W)]
    return (2 + 2) * parameters + max(shares) * (4 + 4 + 4)


def cache_bytes(config, T):
    total = 0
    for _layer in range(config["num_hidden_layers"]):
        for _what in ("keys", "values"):
            total += T * config["num_key_value_heads"] * config["head_dim"] * 2
    return total


def product(m, k, n):
    return 2 * m * k * n


def flops_per_token(H, F, L, N, K, D, T):
    one = product(T, H, N * D) + 2 * product(T, H, K * D) + product(T, N * D, H) + 3 * product(T, H, F)
    one += N * (product(T, D, T) + product(T, T, D))
    return L * one // T


def gated_width(H, F):
    width = 0
    while 3 * H * (width + 1) <= 2 * H * F + F + H:
        width += 1
    return width
