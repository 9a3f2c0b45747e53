"""What the variant of exercise 7 counts, and what known mistakes make of it: {mistake: its number}."""

from typing import NamedTuple

import numpy as np

KEYS = ("common_words", "rare_words", "wide_size", "narrow_size", "hidden_size", "intermediate_size",
        "num_attention_heads", "num_key_value_heads", "head_dim", "num_hidden_layers", "num_hidden_groups")  # fmt: skip


class Sizes(NamedTuple):
    C: int
    R: int
    E: int
    S: int
    H: int
    F: int
    N: int
    K: int
    D: int
    L: int
    G: int

    @property
    def config(self):
        return dict(zip(KEYS, self, strict=True))

    @property
    def words(self):
        return ", ".join(f"{letter} = {size}" for letter, size in self._asdict().items())

    @property
    def embedding(self):
        return self.C, self.R, self.E, self.S, self.H

    @property
    def layer(self):
        return self.H, self.F, self.N, self.K, self.D


USUAL = Sizes(4000, 26000, 256, 64, 768, 2048, 12, 4, 96, 12, 3)
CORNERS = (
    Sizes(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), Sizes(5, 2, 3, 7, 2, 4, 6, 6, 1, 3, 3),
    Sizes(2, 9, 4, 4, 9, 1, 4, 1, 3, 7, 1), Sizes(3, 1, 8, 2, 5, 30, 2, 2, 8, 48, 5),
    Sizes(4, 3, 2, 3, 50, 7, 3, 1, 5, 2, 2), Sizes(500009, 1500007, 4099, 1031, 4093, 16411, 66, 11, 127, 61, 13),
    Sizes(2000000011, 1000000007, 10000019, 1000003, 50000018, 300000001, 66, 11, 127, 61, 13),
    Sizes(6, 5, 3, 2, 4, 9, 49, 1, 3, 2, 1), Sizes(7, 4, 2, 5, 3, 6, 98, 2, 4, 3, 2),
    Sizes(8, 6, 5, 3, 6, 5, 103, 1, 2, 4, 3),        # in floats 49 · (1 / 49) is below 1; 98 and 103, too
    Sizes(100000039, 300000007, 200000033, 100000007, 100000037, 200000051, 3, 1, 100000039, 5, 3),
    Sizes(3, 5, 7, 9, 1, 9007199254740993, 5, 1, 4000000000000037, 3, 2),
)  # fmt: skip
LENGTHS = (1, 2, 3, 4, 5, 5003, 1000000000039, 6, 7, 8, 3, 3)    # T in the corners; some counts are in 2⁵³ to 2⁶³


def drawn(draw):
    if draw.first:
        return USUAL
    C, R, E, S, H, F, D, L = (int(draw.integers(low, 2 * low)) for low in (701, 3001, 83, 23, 101, 503, 31, 7))
    K, G = int(draw.integers(2, 6)), int(draw.integers(2, L))
    return Sizes(C, R, E, S, H, F, K * int(draw.integers(2, 6)), K, D, L, G)


def one_entry_after_another(sizes):
    """Sizes of which each differs from those before it in one entry alone."""
    found = [sizes]
    for letter in Sizes._fields:
        last = found[-1]._asdict()
        found.append(found[-1]._replace(**{letter: others_of(last)[Sizes._fields.index(letter)]}))
    return found


def others_of(sizes):
    """Another size in the place of each. sizes: by letter; K divides N"""
    other = {"N": sizes["N"] + sizes["K"], "K": 1} if "N" in sizes else {}
    return [other.get(letter, size + 1) for letter, size in sizes.items()]


def embedding(C, R, E, S, H):
    return C * E + E * H + (R * S + S * H if R else 0)


def layer(H, F, N, K, D):
    return 2 * H * N * D + N * D + 2 * H * K * D + 2 * K * D + 3 * H * F + 2 * H


def model(sizes):
    return embedding(*sizes.embedding) + sizes.G * layer(*sizes.layer) + sizes.H


def state(P, W):
    return 2 * P + 2 * P + 4 * 3 * -(-P // W)


def cache(sizes, T):
    return 4 * sizes.L * sizes.K * sizes.D * T


def cache_of(config, T):
    return cache(Sizes(*(config[key] for key in KEYS)), T)


def operations(H, F, L, N, K, D, T):
    return L * (2 * (2 * H * N * D + 2 * H * K * D + 3 * H * F) + 4 * T * N * D)


def fair_width(H, F):
    return (2 * H * F + F + H) // (3 * H)


def embedding_mistakes(C, R, E, S, H):
    right = embedding(C, R, E, S, H)
    return {
        "the matrix from E to H is missing": right - E * H,
        "the matrix from S to H is missing": right - S * H,
        "both matrices to H are missing": right - E * H - S * H,
        "the table of rare words is missing": right - R * S,
        "rare words are S wide, not E": right + R * (E - S),
        "all words are E wide; rare ones are S wide": (C + R) * E + E * H,
        "the matrices have no biases": right + 2 * H,
        "the second matrix leads from S to H, not from S to E": right + S * E - S * H,
        "there is no norm": right + 2 * E,
    }


def layer_mistakes(H, F, N, K, D):
    right = layer(H, F, N, K, D)
    return {
        "key and value are K D wide, not N D": right + 2 * (H + 1) * (N - K) * D,
        "key or value is missing: each has H K D + K D": right - (H + 1) * K * D,
        "the output's matrix, N D by H, is missing": right - H * N * D,
        "query's, key's and value's biases are missing": right - (N + 2 * K) * D,
        "the output has no bias": right + H,
        "gate, up and down have no biases": right + 2 * F + H,
        "output, gate, up and down have no biases": right + 2 * F + 2 * H,
        "one of gate, up and down, H F numbers each, is missing": right - H * F,
        "the norms' gains are missing, 2 H": right - 2 * H,
        "there are two norms": right - H,
        "a norm has a gain and no bias": right + 2 * H,
        "query and output are N D wide, not H": right - 2 * H * N * D - N * D + 2 * H * H + H,
    }


def cut_shares(H, F, N, K, D):
    right, width = layer(H, F, N, K, D), (H + 1) * D
    return {
        "K / N is a float, which may be a little too small, and a product with it is cut: use K itself":
            right - 2 * (width * K - int(width * N * (K / N))),
    }  # fmt: skip


def model_mistakes(sizes):
    right, one, words = model(sizes), layer(*sizes.layer), embedding(*sizes.embedding)
    return {
        "the layers multiply the embedding; they must be added": words * sizes.G * one + sizes.H,
        "num_hidden_groups is added to a layer's count; it must multiply it": words + sizes.G + one + sizes.H,
        "the last norm, H, multiplies the layers; it must be added": words + sizes.G * one * sizes.H,
        "a layer's count is squared": words + sizes.G * one**2 + sizes.H,
        "num_hidden_groups is squared": words + sizes.G**2 * one + sizes.H,
        "the embedding is squared": words**2 + sizes.G * one + sizes.H,
        "the last norm is squared": words + sizes.G * one + sizes.H**2,
        "the last norm, H, is missing": right - sizes.H,
        "the last norm has a gain and no bias": right + sizes.H,
        "the embedding is missing": right - words,
        "num_hidden_groups is not heeded: here all layers share one set": right - (sizes.G - 1) * one,
        "num_hidden_groups is not heeded: here each layer has its own set": right + (sizes.L - sizes.G) * one,
        "each group has one set, not one for each of L / G layers": right + (sizes.L // sizes.G - sizes.G) * one,
        "there is no pooler": right + sizes.H * sizes.H + sizes.H,
    }


def kept_parts(before, sizes):
    """What a model has where its embedding's count, or a layer's, is that of sizes that were asked before."""
    says = "the count of {} is kept from an earlier call: another entry of the config has changed since".format
    return {
        says("the embedding"): embedding(*before.embedding) + sizes.G * layer(*sizes.layer) + sizes.H,
        says("a layer"): embedding(*sizes.embedding) + sizes.G * layer(*before.layer) + sizes.H,
    }


def state_mistakes(P, W):
    right, share = state(P, W), -(-P // W)
    return {
        "the shares are rounded down; some machine has one parameter more": 4 * P + 12 * (P // W),
        "bytes are divided, not whole parameters": 4 * P + -(-12 * P // W),
        "numbers are divided, three for each parameter; a machine's share is whole parameters":
            4 * P + 4 * -(-3 * P // W),
        "the share is computed in float32, which holds 24 bits":
            4 * P + 12 * int(np.ceil(np.float32(P) / np.float32(W))),
        "a share is no whole number of parameters: round P / W up": 4 * P + 12 * P / W,
        "LAMB's numbers are divided among the machines": 16 * P,
        "weights and gradients are whole on each machine; LAMB's numbers alone are divided": 16 * share,
        "gradients are whole on each machine": 2 * P + 14 * share,
        "the gradients are missing": right - 2 * P,
        "one of LAMB's three numbers is missing: the copy of the weight, or a moment": right - 4 * share,
        "a float32 has four bytes": 4 * P + 6 * share,
        "weights and gradients are in bfloat16, two bytes each": 8 * P + 12 * share,
        "these are numbers, not bytes": 2 * P + 3 * share,
        "these are the bytes of all W machines": W * 4 * P + 12 * P,
    } | one_too_many(P, W)


def one_too_many(P, W):
    return {"a share is one parameter too many where W divides them": state(P, W) + 12} if P % W == 0 else {}


def cache_mistakes(sizes, T):
    right = cache(sizes, T)
    return {
        "layers that share weights have keys of their own: L, not G": right // sizes.L * sizes.G,
        "there are K keys and values, not N": right // sizes.K * sizes.N,
        "this is half: keys and values are both kept, and a bfloat16 has two bytes": right // 2,
        "a bfloat16 has two bytes, not four": 2 * right,
        "the cache is as wide as K D, not H": right // (sizes.K * sizes.D) * sizes.H,
        "each token has keys and values: T is missing": right // T,
        "each layer has keys and values: L is missing": right // sizes.L,
    }


def operation_mistakes(H, F, L, N, K, D, T):
    right = operations(H, F, L, N, K, D, T)
    return {
        "each multiply-add is counted once; it is two operations": right // 2,
        "L is missing: each layer multiplies, with or without weights of its own": right // L,
        "this is a sequence's count; asked is a token's, a T-th of it": right * T,
        "scores and context are in each of N heads, not K": right - 4 * L * T * (N - K) * D,
        "key and value are K D wide, not N D": right + 4 * L * H * (N - K) * D,
        "both products without weights, scores and context, are missing": right - 4 * L * T * N * D,
        "one of the two products without weights, scores and context, is missing": right - 2 * L * T * N * D,
        "each of T tokens meets T others: T D for a head and token, not T T D": right + 4 * L * T * N * D * (T - 1),
        "the output's product, N D by H, is missing": right - 2 * L * H * N * D,
        "the gate is missing: there are three products of H and F": right - 2 * L * H * F,
        "biases are not counted": right + L * (N + 2 * K) * D,
    }


def width_mistakes(H, F):
    right = fair_width(H, F)
    return {
        "that is more than ALBERT's": right + 1,
        "these are two thirds of F: the biases, F + H, are missing": 2 * F // 3,
        "a larger F' costs no more, either": right - 1,
        "there are three matrices with the gate, not two": (2 * H * F + F + H) // (2 * H),
        "the quotient is a float, not rounded down, or with too few digits: take //": (2 * H * F + F + H) / (3 * H),
        "this is F itself": F,
    }
