"""Exercise 7: what sharing and a narrow embedding save, and what they do not."""

import functools

from minalbert.analysis import cost, parameters
from minalbert.params import count, size_of
from minalbert.params import shapes as shapes_of

from ...compare import Wrong
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers
from ...values import NotWritten, Stopped
from .count_mistakes import (
    break_even_mistakes,
    byte_mistakes,
    embedding_mistakes,
    layer_mistakes,
    operation_mistakes,
)
from .counted import counted, whole, whole_in_corner, whole_in_turn
from .model_sizes import (
    BERT,
    CORNERS,
    LARGEST,
    MANY,
    OPERATIONS,
    PAIRS,
    PAPER,
    another,
    break_even,
    config_of,
    config_words,
    drawn_sizes,
    embeddings,
    layer,
    library_count,
    operations,
    parameters_of,
    whole_model,
)
from .polynomials import miscounted

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
    usual_references={"embedding_parameters": embeddings, "layer_parameters": layer, "albert_parameters": parameters_of,
                      "flops_per_token": operations, "break_even": break_even},
)  # fmt: skip

GROUPS = "num_hidden_groups is heeded; here all layers share one set"


@lesson.check(1.5, "embedding", of="embedding_parameters", formula="(V + M + 2) E + 2 E, and E H + H")
def embedding(yours, draw):
    V, E, H, M, _, _ = drawn_sizes(draw)
    right = embeddings(V, E, H, M)
    name = f"embedding_parameters({V}, {E}, {H}, {M})"
    asked = functools.partial(miscounted, yours.embedding_parameters, embeddings, "VEHM", (V, E, H, M))
    whole(name, yours.embedding_parameters(V, E, H, M), right, embedding_mistakes(V, E, H, M, right), found=asked)
    whole_in_turn("embedding_parameters", yours.embedding_parameters, embeddings, (V, E, H, M))
    for V, E, H, M, _, _ in CORNERS if draw.first else ():
        if E != H:
            answer = yours.embedding_parameters(V, E, H, M)
            whole_in_corner(f"embedding_parameters({V}, {E}, {H}, {M})", answer, embeddings(V, E, H, M))


@lesson.check(0.5, "E = H", of="embedding_parameters", formula="where E = H there is no projection")
def no_projection(yours, draw):
    V, _, H, M, _, _ = drawn_sizes(draw)
    right = embeddings(V, H, H, M)
    suspects = {"where E = H there is no projection: its H H + H are too many": right + H * H + H,
                "where E = H there is no projection: its H H are too many": right + H * H,
                "where E = H there is a norm all the same": right - 2 * H}  # fmt: skip
    answer = yours.embedding_parameters(V, H, another(H), M)
    whole(f"embedding_parameters({V}, {H}, {H}, {M})", answer, right, suspects, own_tables(yours, V, H, M))
    if answer == right:
        for V, _, H, M, _, _ in CORNERS if draw.first else ():
            name = f"embedding_parameters({V}, {H}, {H}, {M})"
            whole_in_corner(name, yours.embedding_parameters(V, H, another(H), M), embeddings(V, H, H, M))


def own_tables(yours, V, H, M):
    """Counts that lose no points here: they lack what the student's count for another E lacks, which costs there."""
    E = H + 1
    try:
        missing = embeddings(V, E, H, M) - counted("embedding", yours.embedding_parameters(V, E, H, M))
    except (Wrong, NotWritten, Stopped):
        return []
    return [embeddings(V, H, H, M) - missing // E * H] if missing in (E, 2 * E, 4 * E, M * E) else []


@lesson.check(1.5, "layer", of="layer_parameters", formula="4 (H H + H) + (H F + F) + (F H + H) + 2 · 2 H")
def of_layer(yours, draw):
    _, _, H, _, F, _ = drawn_sizes(draw)
    right = layer(H, F)
    asked = functools.partial(miscounted, yours.layer_parameters, layer, "HF", (H, F))
    whole(f"layer_parameters({H}, {F})", yours.layer_parameters(H, F), right, layer_mistakes(H, F, right), found=asked)
    whole_in_turn("layer_parameters", yours.layer_parameters, layer, (H, F))
    for H, F in [(H, F) for _, _, H, _, F, _ in CORNERS] + [LARGEST] if draw.first else ():
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


def compare_model(yours, draw, shared):
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
        groups = config_of(sizes)["num_hidden_groups"]
        suspects["shared weights are there once, however often they are used"] = right + (L - 1) * one
        suspects[GROUPS] = right + (groups - 1) * one
    else:
        suspects["shared is False: each of the L layers has weights of its own"] = right - (L - 1) * one
    answer = yours.albert_parameters(config_of(sizes), shared)
    yours.untouched()
    own = from_own_parts(yours, sizes, 1 if shared else L)

    def counted_by(*sizes):
        return yours.albert_parameters(Given.of("one dict", config_of(sizes)), shared)

    right_count = functools.partial(whole_model, shared=shared)
    asked = functools.partial(miscounted, counted_by, right_count, "VEHMFL", sizes, 3)
    whole(f"albert_parameters(config, {shared})", answer, right, suspects, own, asked)
    before = []
    for sizes in CORNERS if draw.first else ():
        V, E, H, M, F, L = sizes
        right = right_count(*sizes)
        answer = counted_by(*sizes)
        if answer not in from_own_parts(yours, sizes, 1 if shared else L):
            groups = config_of(sizes)["num_hidden_groups"]
            known = {GROUPS: right + (groups - 1) * layer(H, F)} if shared else {}
            name = f"albert_parameters(config, {shared}) of {config_words(sizes)}"
            whole_in_corner(name, answer, right, known, before)
        before.append(answer)
    yours.untouched()


@lesson.check(1, "shared", of="albert_parameters", formula="embeddings + one layer + pooler (H H + H)")
def shared_model(yours, draw):
    compare_model(yours, draw, True)


@lesson.check(0.5, "not shared", of="albert_parameters", formula="embeddings + L layers + pooler (H H + H)")
def unshared_model(yours, draw):
    compare_model(yours, draw, False)


@lesson.check(1, "gradient bytes", of="gradient_bytes", formula="4 bytes for each parameter, shared ones once")
def of_gradients(yours, draw):
    sizes = drawn_sizes(draw)
    config = config_of(sizes)
    for shared in (True, False):
        right = library_count(sizes, shared)
        answer, own = yours.gradient_bytes(config, shared), own_bytes(yours, config, shared)
        yours.untouched()
        known = byte_mistakes(sizes, shared, right)
        whole(f"gradient_bytes(config, {shared})", answer, 4 * right, known, own)
        before = []
        for other in CORNERS if draw.first else ():
            answer = yours.gradient_bytes(Given.of("one dict", config_of(other)), shared)
            if answer not in own_bytes(yours, config_of(other), shared):
                name = f"gradient_bytes(config, {shared}) of {config_words(other)}"
                whole_in_corner(name, answer, 4 * whole_model(*other, shared), before=before)
            before.append(answer)
        yours.untouched()


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
    asked = functools.partial(miscounted, yours.flops_per_token, operations, "HFLT", (H, F, L, T))
    known = operation_mistakes(H, F, L, T, right)
    whole(f"flops_per_token({H}, {F}, {L}, {T})", yours.flops_per_token(H, F, L, T), right, known, found=asked)
    whole_in_turn("flops_per_token", yours.flops_per_token, operations, (H, F, L, T))
    for H, F, L, T in OPERATIONS if draw.first else ():
        right = operations(H, F, L, T)
        whole_in_corner(f"flops_per_token({H}, {F}, {L}, {T})", yours.flops_per_token(H, F, L, T), right)


@lesson.check(1, "break-even", of="break_even", formula="the largest whole E with V E + E H < V H")
def of_break_even(yours, draw):
    V, _, H, _, _, _ = drawn_sizes(draw)
    asked, floats = ((V, H), *PAIRS), False
    for (words, width), answer in zip(asked, yours.each("break_even", asked), strict=True):
        right = break_even(words, width)
        known = break_even_mistakes(words, width, right)
        whole(f"break_even({words}, {width})", answer, right, known)
        floats |= isinstance(counted("E", answer), float)
    if floats:                                       # whoever counts up to E, and would not end, has whole numbers
        whole_in_corner(f"break_even{MANY}", yours.break_even(*MANY), break_even(*MANY))


@lesson.check(0.5, "the paper's tables", of="albert_parameters", formula="Lan et al., 2020, tables 1 and 3")
def paper(yours, draw):
    answers = {}
    for millions, name, sizes in PAPER:
        answers[name] = yours.albert_parameters(config_of(sizes), True)
        earlier = [other for other, answer in answers.items() if answer == answers[name] and other != name]
        kept = f"this is the count of {earlier[0]}: something is kept from call to call" if earlier else None
        as_said(millions, name, answers[name], kept)
    for millions, name, (V, E, H, M, F, L) in BERT:
        embedding = counted(f"{name}'s embedding", yours.embedding_parameters(V, E, H, M))
        one = counted(f"{name}'s layer", yours.layer_parameters(H, F))
        as_said(millions, f"{name} (embedding and layers)", embedding + L * one)


def as_said(millions, name, answer, cause=None):
    answer = counted(f"{name}'s count", answer)
    if round(answer / 1e6) != millions:
        raise Wrong(f"{name} has {answer:,} parameters; the paper says {millions}M", cause)


@lesson.check(0.5, "as transformers", of="albert_parameters", formula="num_parameters() of transformers' AlbertModel")
def outside(yours, draw):
    for *sizes, shared, expected in numbers("ex07")["counts"].astype(int).tolist():
        answer = yours.albert_parameters(config_of(sizes), bool(shared))
        whole(f"the count of H = {sizes[2]}, L = {sizes[5]} (transformers')", answer, expected, {})
    yours.untouched()
