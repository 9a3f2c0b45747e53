"""The variant of exercise 7: gated layers with grouped heads, words of two widths, LAMB's state on many machines."""

import contextlib
import functools

from ...compare import Wrong
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers
from ...values import NotWritten, Stopped
from . import counting
from .counted import counted, whole, whole_in_corner, whole_in_turn
from .gated_counts import (
    CORNERS,
    LENGTHS,
    Sizes,
    cache,
    cache_mistakes,
    cache_of,
    cut_shares,
    drawn,
    embedding,
    embedding_mistakes,
    fair_width,
    kept_parts,
    layer,
    layer_mistakes,
    model,
    model_mistakes,
    one_entry_after_another,
    one_too_many,
    operation_mistakes,
    operations,
    others_of,
    state,
    state_mistakes,
    width_mistakes,
)
from .polynomials import miscounted

variant = Lesson(
    "ex07-gated", "counting for a changed model", minutes=45, variant_of="ex07",
    functions={
        "embedding_parameters": "parameters",
        "layer_parameters": "parameters",
        "model_parameters": "parameters",
        "training_bytes": "bytes",
        "cache_bytes": "bytes",
        "flops_per_token": "flops",
        "gated_width": "F",
    },
    withheld=counting.lesson.withheld,
    references={"embedding_parameters": embedding, "layer_parameters": layer, "training_bytes": state,
                "flops_per_token": operations, "gated_width": fair_width},
    usual_references={"cache_bytes": cache_of},
)  # fmt: skip

MACHINES = ((1, 1), (1000, 1), (7, 7), (7, 8), (8, 3), (257, 256), (11683584, 64), (357898112, 1000), (10**12 + 1, 8),
            (10**17 + 1, 3))
WIDTHS = ((8, 32), (1, 1), (1, 2), (2, 1), (3, 4), (5, 3),
          (5, 5), (5, 8), (100, 101), (768, 3072), (4096, 16384), (2, 100), (100, 2), (1, 3000), (12289, 49157))


def compare(yours, name, right, mistakes, letters, sizes, corners, degree=3, in_corners=None):
    """Compare for sizes, with what may be wrong, and then in the corners, with what may be wrong there."""
    function = getattr(yours, name)
    asked = functools.partial(miscounted, function, right, letters, sizes, degree)
    answer = function(*sizes)
    known = {} if answer == right(*sizes) else held_elsewhere(function, mistakes, sizes)
    whole(f"{name}{sizes}", answer, right(*sizes), known, found=asked)
    whole_in_turn(name, function, right, sizes, others_of(dict(zip(letters, sizes, strict=True))))
    for corner in corners:
        known = in_corners(*corner) if in_corners else {}
        whole_in_corner(f"{name}{corner}", function(*corner), right(*corner), known)


def held_elsewhere(function, mistakes, sizes):
    """Those of the mistakes that give the student's count for larger sizes, too: for some sizes two give the same."""
    larger = [size + 5 + 2 * i for i, size in enumerate(sizes)]
    with contextlib.suppress(Wrong, NotWritten, Stopped):
        found, there = function(*larger), mistakes(*larger)
        return {says: number for says, number in mistakes(*sizes).items() if there.get(says) == found}
    return mistakes(*sizes)


def corners(draw, part):
    return [getattr(sizes, part) for sizes in CORNERS] if draw.first else ()


@variant.check(1.5, "embedding", of="embedding_parameters", formula="C E + E H, and R S + S H")
def of_words(yours, draw):
    sizes = drawn(draw).embedding
    others = corners(draw, "embedding")
    compare(yours, "embedding_parameters", embedding, embedding_mistakes, "CRESH", sizes, others)


@variant.check(0.5, "no rare words", of="embedding_parameters", formula="where R = 0: C E + E H alone")
def no_rare_words(yours, draw):
    for C, _, E, S, H in (drawn(draw).embedding, *corners(draw, "embedding")):
        right, answer = C * E + E * H, yours.embedding_parameters(C, 0, E, S, H)
        known = {"where R = 0 there is no matrix from S to H": right + S * H,
                 "common words are there where no rare ones are": 0}  # fmt: skip
        whole(f"embedding_parameters({C}, 0, {E}, {S}, {H})", answer, right, known)
    answer, right = yours.embedding_parameters(7, 3, 5, 2, 4), embedding(7, 3, 5, 2, 4)
    if answer != right:                              # zeros, or C E + E H in any case, are no answer
        whole("embedding_parameters(7, 3, 5, 2, 4)", answer, right, embedding_mistakes(7, 3, 5, 2, 4))


@variant.check(1.5, "layer", of="layer_parameters",
               formula="(H N D + N D) + 2 (H K D + K D) + N D H + 3 H F + 2 H")  # fmt: skip
def of_layer(yours, draw):
    sizes, others = drawn(draw).layer, corners(draw, "layer")
    compare(yours, "layer_parameters", layer, layer_mistakes, "HFNKD", sizes, others, in_corners=cut_shares)


@variant.check(1.5, "model", of="model_parameters", formula="embedding + num_hidden_groups layers + H")
def of_model(yours, draw):
    sizes = drawn(draw)
    answer = yours.model_parameters(sizes.config)
    yours.untouched()
    asked = functools.partial(miscounted, lambda *other: yours.model_parameters(Sizes(*other).config),
                              lambda *other: model(Sizes(*other)), "CRESHFNKDLG", sizes, 0)  # fmt: skip
    whole("model_parameters(config)", answer, model(sizes), model_mistakes(sizes), from_own_parts(yours, sizes), asked)
    compare_models(yours, CORNERS if draw.first else (), one_dict)
    compare_models(yours, one_entry_after_another(sizes))


def one_dict(config):
    """The config as it is handed over: in one and the same dict as those before"""
    return Given.of("one dict", config)


def compare_models(yours, many, handed=lambda config: config):
    """many: sizes, one after the other   handed: the config as it is handed over"""
    before = []
    for number, sizes in enumerate(many):
        answer = yours.model_parameters(handed(sizes.config))
        if answer != model(sizes) and answer not in from_own_parts(yours, sizes):
            known = kept_parts(many[max(number - 1, 0)], sizes)
            whole_in_corner(f"model_parameters(config) of {sizes.words}", answer, model(sizes), known, before)
        before.append(answer)
    yours.untouched()


def from_own_parts(yours, sizes):
    """What the student's own counts of embedding and layer add up to."""
    try:
        words = counted("embedding", yours.embedding_parameters(*sizes.embedding))
        one = counted("layer", yours.layer_parameters(*sizes.layer))
    except (Wrong, NotWritten, Stopped):
        return []
    return [words + sizes.G * one + sizes.H] if words > sizes.H and one > sizes.H else []


@variant.check(1.5, "training bytes", of="training_bytes", formula="2 P + 2 P + 3 · 4 ⌈P / W⌉")
def of_training(yours, draw):
    def of_share(function):
        return lambda S, W: function(S * W, W)

    def asked():
        cause = miscounted(of_share(yours.training_bytes), of_share(state), "SW", (40, 7), degree=2)
        return cause and f"where P = S W, with a share of S: {cause}"

    usual = (11683585, 8) if draw.first else (int(draw.integers(10**6, 10**7)), int(draw.integers(3, 100)))
    for P, W in (usual, *MACHINES):
        known = one_too_many(P, W) if W == 1 else state_mistakes(P, W)
        whole(f"training_bytes({P}, {W})", yours.training_bytes(P, W), state(P, W), known, found=asked)


@variant.check(1, "cache bytes", of="cache_bytes", formula="2 · 2 L K D T")
def of_cache(yours, draw):
    sizes, T = drawn(draw), 512 if draw.first else int(draw.integers(101, 999))

    def of_others(function):
        return lambda H, N, K, D, L, T: function(sizes._replace(H=H, N=N, K=K, D=D, L=L), T)

    theirs = of_others(lambda other, T: yours.cache_bytes(other.config, T))
    usual = sizes.H, sizes.N, sizes.K, sizes.D, sizes.L, T
    asked = functools.partial(miscounted, theirs, of_others(cache), "HNKDLT", usual)
    answer = yours.cache_bytes(sizes.config, T)
    yours.untouched()
    whole(f"cache_bytes(config, {T})", answer, cache(sizes, T), cache_mistakes(sizes, T), found=asked)
    compare_caches(yours, zip(CORNERS, LENGTHS, strict=True) if draw.first else (), one_dict)
    compare_caches(yours, [(other, T) for other in one_entry_after_another(sizes)])


def compare_caches(yours, cases, handed=lambda config: config):
    """cases: (sizes, T), one after the other   handed: the config as it is handed over"""
    before = []
    for sizes, T in cases:
        answer = yours.cache_bytes(handed(sizes.config), T)
        whole_in_corner(f"cache_bytes(config, {T}) of {sizes.words}", answer, cache(sizes, T), before=before)
        before.append(answer)
    yours.untouched()


@variant.check(1.5, "FLOPs", of="flops_per_token",
               formula="L (2 · 2 H N D + 2 · 2 H K D + 2 · 2 T N D + 3 · 2 H F)")  # fmt: skip
def of_operations(yours, draw):
    def asked(sizes, T):
        return sizes.H, sizes.F, sizes.L, sizes.N, sizes.K, sizes.D, T

    lengths = [T if T < 10**6 else 1 for T in LENGTHS]           # a sequence's count is below 2⁶³, too
    others = [asked(sizes, T) for T, sizes in zip(lengths, CORNERS, strict=True)] if draw.first else ()
    sizes = asked(drawn(draw), 512 if draw.first else int(draw.integers(101, 999)))
    compare(yours, "flops_per_token", operations, operation_mistakes, "HFLNKDT", sizes, others, degree=4)


@variant.check(0.5, "a fair gate", of="gated_width", formula="the largest whole F' with 3 H F' ≤ 2 H F + F + H")
def of_width(yours, draw):
    sizes = drawn(draw)
    for H, F in ((sizes.H, 4 * sizes.H), (sizes.H, sizes.F), *WIDTHS):
        whole(f"gated_width({H}, {F})", yours.gated_width(H, F), fair_width(H, F), width_mistakes(H, F))


@variant.check(0.5, "as transformers", of="model_parameters", formula="num_parameters() of transformers' Qwen2Model")
def outside(yours, draw):
    for H, F, N, K, D, L, expected in numbers("ex07_gated")["counts"].astype(int).tolist():
        sizes = Sizes(1000, 0, H, 1, H, F, N, K, D, L, L)
        words = counted("the count of the embedding", yours.embedding_parameters(*sizes.embedding))
        answer = counted("the count of the model", yours.model_parameters(sizes.config))
        whole(f"the count of H = {H}, L = {L} without the embedding (transformers')", answer - words, expected, {})
    yours.untouched()
