def layer_parameters(H, F, N, K, D):
    assert N % K == 0
    return 2 * H * N * D + N * D + 2 * (H * K * D + K * D) + 3 * H * F + 2 * H


def flops_per_token(H, F, L, N, K, D, T):
    assert N % K == 0
    return L * (4 * H * N * D + 4 * H * K * D + 6 * H * F + 4 * T * N * D)
