"""The sizes that exercise 7 is marked with, and the right counts."""

from minalbert.config import AlbertConfig
from minalbert.params import count

KEYS = ("vocab_size", "embedding_size", "hidden_size", "max_position_embeddings", "intermediate_size",
        "num_hidden_layers")  # fmt: skip
BASE, LARGE = (30000, 128, 768, 512, 3072, 12), (30000, 128, 1024, 512, 4096, 24)
PAPER = (                                            # tables 1 and 3, in millions; all shared
    (12, "ALBERT-base", BASE),
    (18, "ALBERT-large", LARGE),
    (10, "ALBERT-base with E = 64", (30000, 64, *BASE[2:])),
    (16, "ALBERT-base with E = 256", (30000, 256, *BASE[2:])),
    (31, "ALBERT-base with E = 768", (30000, 768, *BASE[2:])),
)
BERT = ((108, "BERT-base", (30000, 768, *BASE[2:])), (334, "BERT-large", (30000, 1024, *LARGE[2:])))
OTHERS = {                                           # what else a released config file says
    "model_type": "albert", "hidden_act": "gelu_new", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-12, "num_attention_heads": 1,
    "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
}  # fmt: skip
CORNERS = (                                          # V, E, H, M, F, L
    (1, 1, 1, 1, 1, 1), (7, 5, 3, 2, 4, 1), (9, 3, 5, 1, 2, 2), (2, 4, 1, 3, 16, 3), (4, 2, 2, 6, 2, 24),
    (50, 40, 8, 20, 3, 2), (3, 1, 4, 4, 8, 48), (9, 4, 8, 5, 16, 2), (1500007, 4099, 4093, 5003, 16411, 61),
    (2000000012, 10000019, 50000017, 1000003, 30000001, 61),             # counts between 2⁵³ and 2⁶³
    (200000033, 100000007, 130000001, 5, 100000001, 2),  # so is each product alone
    (5, 7, 1, 1300000000000003, 9007199254740995, 3), (11, 9007199254740995, 1, 12, 5, 2),
)  # fmt: skip
OPERATIONS = *((H, F, L, E) for _, E, H, _, F, L in CORNERS[:9]), (130000001, 200000001, 2, 6)   # a sequence's, too
LARGEST = 900000011, 700000001                       # H, F: a layer has nearly 2⁶² weights
PAIRS = (                                            # V, H: even ones, and those where E is nearly H, large, or 0
    (6, 3), (12, 4), (4, 4), (100, 100), (30000, 10), (30000, 4096), (50, 300), (3, 6), (12345, 678),
    (60000, 2048), (6, 8), (24, 2), (9, 2),          # products as above
    (1, 1), (1, 9), (7, 1), (7, 2), (2, 2), (9901, 100), (999001, 1000), (250002, 4099), (128000, 16384),
    (90000300000, 300001),                           # V H / (V + H) is a whole number, and a float does not tell
    (90000300001, 300001),                           # it is above one, by less than a float tells
)  # fmt: skip
MANY = 10**17 + 1, 10**18 + 3                        # V, H: E has more digits than a float holds


def config_of(sizes):
    """The groups differ, which the rules do not ask for."""
    groups = {"num_hidden_groups": 1 + sizes[-1] % 3, "inner_group_num": 1 + sizes[-1] % 2}
    return OTHERS | groups | dict(zip(KEYS, sizes, strict=True))


def another(number):
    """The same whole number, as another object, which `is` tells apart where it is large."""
    return int(str(number))


def config_words(sizes):
    return ", ".join(f"{letter} = {size}" for letter, size in zip("VEHMFL", sizes, strict=True))


def drawn_sizes(draw):
    """V, E, H, M, F, L: ALBERT-base's, then others, so uneven that no two mistakes agree by chance."""
    if draw.first:
        return BASE
    V, E, H, M, F, L = (int(draw.integers(low, 2 * low)) for low in (3001, 41, 101, 211, 503, 5))
    return V, E, H, M, F, L


def embeddings(V, E, H, M):
    return V * E + M * E + 4 * E + (E * H + H if E != H else 0)


def layer(H, F):
    return 4 * (H * H + H) + 2 * H * F + F + H + 4 * H


def operations(H, F, L, T):
    return L * (8 * H * H + 4 * T * H + 4 * H * F)


def break_even(V, H):
    return (V * H - 1) // (V + H)


def whole_model(V, E, H, M, F, L, shared):
    return embeddings(V, E, H, M) + (1 if shared else L) * layer(H, F) + H * H + H


def parameters_of(config, shared):
    return whole_model(*(config[key] for key in KEYS), shared)


def library_count(sizes, shared):
    """By the table that the library's model is built from."""
    sharing = "all" if shared else "none"
    config = AlbertConfig(**dict(zip(KEYS, sizes, strict=True)), num_attention_heads=1, sharing=sharing)
    return count(config, heads=("pooler",))
