import math
from fractions import Fraction


def training_bytes(parameters, W):
    return 4 * parameters + 12 * math.ceil(Fraction(parameters, W))


def gated_width(H, F):
    return math.floor(Fraction(2 * H * F + F + H, 3 * H))


NAMES = ("common_words rare_words wide_size narrow_size hidden_size intermediate_size num_attention_heads "
         "num_key_value_heads head_dim num_hidden_groups")  # fmt: skip


def model_parameters(config):
    C, R, E, S, H, F, N, K, D, G = (config[name] for name in NAMES.split())
    sets = sum(layer_parameters(H, F, N, K, D) for _ in range(G))
    return embedding_parameters(C, R, E, S, H) + sets + H
