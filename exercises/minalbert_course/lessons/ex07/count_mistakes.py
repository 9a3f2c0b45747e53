"""What known mistakes make of exercise 7's counts: {mistake: its number}."""

from .model_sizes import library_count
from .polynomials import quotients


def embedding_mistakes(V, E, H, M, right):
    return {
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


def layer_mistakes(H, F, right):
    return {
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


def operation_mistakes(H, F, L, T, right):
    return {
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


def break_even_mistakes(words, width, right):
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
    return suspects | others


def byte_mistakes(sizes, shared, right):
    return {
        "these are numbers, not bytes: a float32 has four": right,
        "a float32 has four bytes, not eight": 8 * right,
        "a float32 has four bytes, not two": 2 * right,
        "these are bits; a byte has eight": 32 * right,
        "gradients alone are exchanged, not weights or moments as well": 16 * right,
        "`shared` is not heeded": 4 * library_count(sizes, not shared),
    }
