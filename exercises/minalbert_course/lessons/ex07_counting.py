"""Exercise 7: what sharing and a narrow embedding save, and what they do not."""

import functools

import numpy as np

from minalbert.analysis import cost, parameters
from minalbert.config import AlbertConfig
from minalbert.params import count, size_of
from minalbert.params import shapes as shapes_of

from ..compare import Wrong, is_number, shown
from ..lesson import Lesson
from ..outside import numbers
from ..yours import NotWritten, Stopped
from .polynomials import miscounted, quotients

lesson = Lesson(
    "ex07", "counting: what sharing saves", minutes=45,
    functions={
        "embedding_parameters": "parameters",
        "layer_parameters": "parameters",
        "albert_parameters": "parameters",
        "gradient_bytes": "bytes",
        "flops_per_token": "flops",
        "break_even": "E",
    },
    withheld=(count, size_of, shapes_of, parameters.totals, parameters.word_embedding, parameters.layer_weights,
              cost.forward_operations, cost.training_operations, cost.optimiser_bytes, cost.all_reduced_bytes),
)  # fmt: skip
LESSONS = [lesson]

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
    "num_hidden_groups": 1, "inner_group_num": 1, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3,
}  # fmt: skip
ELSEWHERE = "other sizes were right: what is special in these? A width that is larger than another, equal to it, or one"
CORNERS = (                                          # V, E, H, M, F, L
    (1, 1, 1, 1, 1, 1), (7, 5, 3, 2, 4, 1), (9, 3, 5, 1, 2, 2), (2, 4, 1, 3, 16, 3), (4, 2, 2, 6, 2, 24),
    (50, 40, 8, 20, 3, 2), (3, 1, 4, 4, 8, 48),
)  # fmt: skip


PAIRS = (                                            # V, H: even ones, and those where E is nearly H, or large
    (6, 3), (12, 4), (4, 4), (100, 100), (30000, 10), (30000, 4096), (50, 300), (3, 6), (12345, 678),
)  # fmt: skip


def config_of(sizes):
    return OTHERS | dict(zip(KEYS, sizes, strict=True))


def whole(name, yours, expected, suspects, own=(), found=None):
    """Raise Wrong unless yours is that number.

    suspects   {mistake: the number it gives}
    own        numbers that follow from a mistake which has cost its points elsewhere
    found      a function of none that finds the mistake, or gives None
    """
    yours = counted(name, yours)
    if yours == expected or yours in own:
        return
    cause = next((says for says, number in suspects.items() if number == yours), None)
    cause = cause or (found() if found else None) or times(yours, expected)
    raise Wrong(f"{name}: yours {yours:,}   expected {expected:,}   off by {yours - expected:,}", cause)


def times(yours, expected):
    for n in range(2, 65):
        if yours in (expected * n, -expected * n):
            return f"{'-' if yours < 0 else ''}{n} times what is expected"
        if yours and expected in (yours * n, -yours * n):
            return f"{'-' if yours < 0 else ''}1/{n} of what is expected"
    return "the sign is wrong" if yours == -expected else None


def whole_in_corner(name, yours, expected):
    try:
        whole(name, yours, expected, {})
    except Wrong as error:
        raise Wrong(error.seen, ELSEWHERE) from None


def counted(name, yours):
    if not is_number(yours) or isinstance(yours, np.complexfloating | np.timedelta64) or not abs(yours) < 1e30:
        raise Wrong(f"{name} is {shown(yours) if is_small(yours) else 'far too large'}; it must be one whole number")
    return yours


def is_small(yours):
    return not isinstance(yours, int) or abs(yours) < 1e30


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


def library_count(sizes, shared):
    """By the table that the library's model is built from."""
    sharing = "all" if shared else "none"
    config = AlbertConfig(**dict(zip(KEYS, sizes, strict=True)), num_attention_heads=1, sharing=sharing)
    return count(config, heads=("pooler",))


@lesson.check(1.5, "embedding", of="embedding_parameters", formula="(V + M + 2) E + 2 E, and E H + H")
def embedding(yours, draw):
    V, E, H, M, _, _ = drawn_sizes(draw)
    right = embeddings(V, E, H, M)
    suspects = {
        "the projection's bias, H numbers, is missing": right - H,
        "the projection's bias has a number for each output, H, not E": right - H + E,
        "the projection from E to H is missing": right - E * H - H,
        "2 E are missing: the norm's gain and bias, or the two rows for token types": right - 2 * E,
        "4 E are missing: the norm's gain and bias, and the two rows for token types": right - 4 * E,
        "the norm has two vectors, a gain and a bias": right - E,
        "the norm comes before the projection: it is E wide, not H": right + 2 * (H - E),
        "the table of positions is missing": right - M * E,
        "positions are E wide, not H": right + M * (H - E),
        "positions and token types are E wide, not H": right + (M + 2) * (H - E),
        "positions, token types and norm are E wide, not H": right + (M + 4) * (H - E),
        "words are E wide, not H": right + V * (H - E),
    }
    name = f"embedding_parameters({V}, {E}, {H}, {M})"
    asked = functools.partial(miscounted, yours.embedding_parameters, embeddings, "VEHM", (V, E, H, M))
    whole(name, yours.embedding_parameters(V, E, H, M), right, suspects, found=asked)
    for V, E, H, M, _, _ in CORNERS if draw.first else ():
        if E != H:
            answer = yours.embedding_parameters(V, E, H, M)
            whole_in_corner(f"embedding_parameters({V}, {E}, {H}, {M})", answer, embeddings(V, E, H, M))


@lesson.check(0.5, "E = H", of="embedding_parameters", formula="where E = H there is no projection")
def no_projection(yours, draw):
    V, _, H, M, _, _ = drawn_sizes(draw)
    right = embeddings(V, H, H, M)
    suspects = {"where E = H there is no projection: its H H + H are too many": right + H * H + H,
                "where E = H there is no projection: its H H are too many": right + H * H}  # fmt: skip
    own = [right - missing for missing in (H, 2 * H, 4 * H, M * H)]
    whole(f"embedding_parameters({V}, {H}, {H}, {M})", yours.embedding_parameters(V, H, H, M), right, suspects, own)
    if yours.embedding_parameters(V, H, H, M) == right:
        for V, _, H, M, _, _ in CORNERS if draw.first else ():
            name = f"embedding_parameters({V}, {H}, {H}, {M})"
            whole_in_corner(name, yours.embedding_parameters(V, H, H, M), embeddings(V, H, H, M))


@lesson.check(1.5, "layer", of="layer_parameters", formula="4 (H H + H) + (H F + F) + (F H + H) + 2 · 2 H")
def of_layer(yours, draw):
    _, _, H, _, F, _ = drawn_sizes(draw)
    right = layer(H, F)
    suspects = {
        "4 H are missing: the two norms, or the attention's biases": right - 4 * H,
        "2 H are missing: there are two norms, each with a gain and a bias": right - 2 * H,
        "all biases of the six matrices are missing": right - 5 * H - F,
        "biases and norms are missing: these are the matrices alone": right - 9 * H - F,
        "the biases of up and down, F and H numbers, are missing": right - H - F,
        "the attention has four matrices, with the output's; one is missing": right - H * H - H,
        "the way down, F H + H, is missing": right - F * H - H,
        "the attention is missing": right - 4 * (H * H + H),
        "up has F biases, down has H; here both have F": right - H + F,
        "up has F biases, down has H; here both have H": right + H - F,
    }
    asked = functools.partial(miscounted, yours.layer_parameters, layer, "HF", (H, F))
    whole(f"layer_parameters({H}, {F})", yours.layer_parameters(H, F), right, suspects, found=asked)
    for _, _, H, _, F, _ in CORNERS if draw.first else ():
        whole_in_corner(f"layer_parameters({H}, {F})", yours.layer_parameters(H, F), layer(H, F))


def from_own_parts(yours, sizes, sets):
    """What the student's own counts of embedding and layer add up to."""
    V, E, H, M, F, _ = sizes
    try:
        embedding = counted("embedding", yours.embedding_parameters(V, E, H, M))
        one = counted("layer", yours.layer_parameters(H, F))
    except (Wrong, NotWritten, Stopped):
        return []
    return [embedding + sets * one + H * H + H] if embedding > H and one > H else []


def whole_model(yours, draw, shared):
    sizes = drawn_sizes(draw)
    V, E, H, M, F, L = sizes
    right, one = library_count(sizes, shared), layer(H, F)
    suspects = {
        "the pooler, H H + H, is missing": right - H * H - H,
        "the pooler's bias is missing": right - H,
        "the embeddings are missing": right - embeddings(V, E, H, M),
        "the heads are not asked for: here is the masked-word head, too": right + H * E + 3 * E + V,
        "the heads are not asked for: here are both, too": right + H * E + 3 * E + V + 2 * H + 2,
    }
    if shared:
        suspects["shared weights are there once, however often they are used"] = right + (L - 1) * one
    else:
        suspects["shared is False: each of the L layers has weights of its own"] = right - (L - 1) * one
    answer = yours.albert_parameters(config_of(sizes), shared)
    yours.untouched()
    own = from_own_parts(yours, sizes, 1 if shared else L)

    def counted_by(*sizes):
        return yours.albert_parameters(config_of(sizes), shared)

    def right_count(V, E, H, M, F, L):
        return embeddings(V, E, H, M) + (1 if shared else L) * layer(H, F) + H * H + H

    asked = functools.partial(miscounted, counted_by, right_count, "VEHMFL", sizes, 3)
    whole(f"albert_parameters(config, {shared})", answer, right, suspects, own, asked)
    for sizes in CORNERS if draw.first else ():
        V, E, H, M, F, L = sizes
        right = right_count(*sizes)
        answer = counted_by(*sizes)
        if answer not in from_own_parts(yours, sizes, 1 if shared else L):
            whole_in_corner(f"albert_parameters(config, {shared}) of {config_words(sizes)}", answer, right)


def config_words(sizes):
    return ", ".join(f"{letter} = {size}" for letter, size in zip("VEHMFL", sizes, strict=True))


@lesson.check(1, "shared", of="albert_parameters", formula="embeddings + one layer + pooler (H H + H)")
def shared_model(yours, draw):
    whole_model(yours, draw, True)


@lesson.check(0.5, "not shared", of="albert_parameters", formula="embeddings + L layers + pooler (H H + H)")
def unshared_model(yours, draw):
    whole_model(yours, draw, False)


@lesson.check(1, "gradient bytes", of="gradient_bytes", formula="4 bytes for each parameter, shared ones once")
def of_gradients(yours, draw):
    sizes = drawn_sizes(draw)
    config = config_of(sizes)
    for shared in (True, False):
        right = library_count(sizes, shared)
        suspects = {
            "these are numbers, not bytes: a float32 has four": right,
            "a float32 has four bytes, not eight": 8 * right,
            "a float32 has four bytes, not two": 2 * right,
            "these are bits; a byte has eight": 32 * right,
            "gradients alone are exchanged, not weights or moments as well": 16 * right,
            "`shared` is not heeded": 4 * library_count(sizes, not shared),
        }
        answer, own = yours.gradient_bytes(config, shared), own_bytes(yours, config, shared)
        yours.untouched()
        whole(f"gradient_bytes(config, {shared})", answer, 4 * right, suspects, own)
        for other in CORNERS if draw.first else ():
            V, E, H, M, F, L = other
            right = embeddings(V, E, H, M) + (1 if shared else L) * layer(H, F) + H * H + H
            answer = yours.gradient_bytes(config_of(other), shared)
            if answer not in own_bytes(yours, config_of(other), shared):
                whole_in_corner(f"gradient_bytes(config, {shared}) of {config_words(other)}", answer, 4 * right)


def own_bytes(yours, config, shared):
    try:
        parameters = counted("albert_parameters", yours.albert_parameters(config, shared))
    except (Wrong, NotWritten, Stopped):
        return []
    return [4 * parameters] if parameters > 0 else []


@lesson.check(2, "FLOPs", of="flops_per_token", formula="L (4 · 2 H H + 2 · 2 T H + 2 · 2 H F)")
def of_operations(yours, draw):
    _, _, H, T, F, L = drawn_sizes(draw)
    right = operations(H, F, L, T)
    suspects = {
        "each multiply-add is counted once; it is two operations": right // 2,
        "L is missing: each layer multiplies, with or without weights of its own": right // L,
        "this is a sequence's count; asked is a token's, a T-th of it": right * T,
        "both products without weights, scores and context, are missing": right - 4 * L * T * H,
        "one of the two products without weights, scores and context, is missing": right - 2 * L * T * H,
        "each of T tokens meets T others: T H for a token, not T T H": right + 4 * L * T * H * (T - 1),
        "the output's product, H by H, is missing": right - 2 * L * H * H,
        "one of up and down is missing": right - 2 * L * H * F,
        "up and down are missing": right - 4 * L * H * F,
        "this is forward and backward; asked is forward": 3 * right,
    }
    asked = functools.partial(miscounted, yours.flops_per_token, operations, "HFLT", (H, F, L, T))
    whole(f"flops_per_token({H}, {F}, {L}, {T})", yours.flops_per_token(H, F, L, T), right, suspects, found=asked)
    for _, T, H, _, F, L in CORNERS if draw.first else ():
        right = operations(H, F, L, T)
        whole_in_corner(f"flops_per_token({H}, {F}, {L}, {T})", yours.flops_per_token(H, F, L, T), right)


@lesson.check(1, "break-even", of="break_even", formula="the largest whole E with V E + E H < V H")
def of_break_even(yours, draw):
    V, _, H, _, _, _ = drawn_sizes(draw)
    for words, width in ((V, H), *PAIRS):
        right = (words * width - 1) // (words + width)
        suspects = {}
        if words * width == (right + 1) * (words + width):
            suspects["there both cost the same, and it must be less"] = right + 1
        suspects |= {
            "there V E + E H is no longer less than V H": right + 1,
            "a larger E is still less than V H": right - 1,
            "E H, the projection, costs as well": width - 1,
            "this is H: with E = H the table alone is V H": width,
            "this is V H / (V + H) rounded to the nearest": round(words * width / (words + width)),
            "this is V, not E": words,
            "this is H / 2": width // 2,
        }
        others = {says: number for says, number in quotients(words, width).items() if number != right}
        answer = yours.break_even(words, width)
        whole(f"break_even({words}, {width})", answer, right, suspects | others)


@lesson.check(0.5, "the paper's tables", of="albert_parameters", formula="Lan et al., 2020, tables 1 and 3")
def paper(yours, draw):
    for millions, name, sizes in PAPER:
        as_said(millions, name, yours.albert_parameters(config_of(sizes), True))
    for millions, name, (V, E, H, M, F, L) in BERT:
        embedding = counted(f"{name}'s embedding", yours.embedding_parameters(V, E, H, M))
        one = counted(f"{name}'s layer", yours.layer_parameters(H, F))
        as_said(millions, f"{name} (embedding and layers)", embedding + L * one)


def as_said(millions, name, answer):
    answer = counted(f"{name}'s count", answer)
    if round(answer / 1e6) != millions:
        raise Wrong(f"{name} has {answer:,} parameters; the paper says {millions}M")


@lesson.check(0.5, "as transformers", of="albert_parameters", formula="num_parameters() of transformers' AlbertModel")
def outside(yours, draw):
    for *sizes, shared, expected in numbers("ex07")["counts"].astype(int).tolist():
        answer = yours.albert_parameters(config_of(sizes), bool(shared))
        whole(f"the count of H = {sizes[2]}, L = {sizes[5]} (transformers')", answer, expected, {})
