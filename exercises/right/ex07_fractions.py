def embedding_parameters(V, E, H, M):
    total = sum(rows * E for rows in (V, M, 2, 1, 1))
    return total if H == E else total + (E + 1) * H
def layer_parameters(H, F):
    import math
    shapes = [(H, H)] * 4 + [(H, F), (F, H)]
    return sum(math.prod(s) + s[1] for s in shapes) + sum(2 * H for _ in range(2))
def break_even(V, H):
    import math
    from fractions import Fraction
    return math.ceil(Fraction(V * H, V + H)) - 1
def flops_per_token(H, F, L, T):
    heads = 1
    D = H // heads
    total = 0
    for _layer in range(L):
        total += 4 * 2 * T * H * H + heads * (2 * T * D * T + 2 * T * T * D) + 2 * T * H * F + 2 * T * F * H
    assert total % T == 0
    return total // T
