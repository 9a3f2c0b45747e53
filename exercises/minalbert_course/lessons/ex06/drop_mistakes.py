"""What known mistakes make of exercise 6 with dropout."""

import numpy as np

from minalbert.layers import gelu_forward, layer_norm_forward

from .dropping import added, dropped, encoder, encoder_back, inside, layer, layer_back, mask_of


def kept_all(x, rate, key):
    return x


def wrong_masks(shape, rate, key):
    u = np.random.default_rng(key).random(shape)

    def of(key):
        return mask_of(shape, rate, key)

    found = {
        "what must be kept is dropped, and what must be dropped is kept": u < rate,
        "a share of `rate` is kept; it must be dropped": u >= 1 - rate,
        "u < 1 - rate, or a draw by binomial, keeps the right share, but other places than u ≥ rate": u < 1 - rate,
        "nothing is dropped": np.ones(shape),
        "this is divided by 1 - rate; the mask itself is 0 and 1": of(key) / (1 - rate),
        "these are the numbers u themselves; they must be compared with the rate": u,
        "the generator has the first number of the key alone": of(key[0]),
        "the generator has the last number of the key alone": of(key[-1]),
        "the generator has the sum of the key's numbers": of(sum(key)),
        "of the key's numbers 32 bits are used": of([number % 2**32 for number in key]),
        "all rows have the mask of the first": np.broadcast_to(of(key)[(0,) * (len(shape) - 1)], shape),
        "u is drawn row by row, each time from a new generator":
            np.broadcast_to(np.random.default_rng(key).random(shape[-1:]) >= rate, shape),
        "u is normal, where it must be uniform in [0, 1)": np.random.default_rng(key).standard_normal(shape) >= rate,
    }  # fmt: skip
    found |= {f"the generator has the first {n} numbers of the key alone": of(key[:n]) for n in range(2, len(key))}
    return {says: np.asarray(mask, float) for says, mask in found.items()}


def wrong_drops(x, rate, mask):
    return {
        "what is kept is not divided by 1 - rate": x * mask,
        "what is kept is multiplied by 1 - rate, where it must be divided": x * mask * (1 - rate),
        "what is kept is divided by rate; it must be by 1 - rate": x * mask / rate,
        "divided by the share that was kept, as it came out; it must be by 1 - rate": x * mask / mask.mean(),
        "what is kept is divided by 1 - rate twice": x * mask / (1 - rate) ** 2,
        "what must be kept is dropped, and what must be dropped is kept": x * (1 - mask) / (1 - rate),
        "nothing is dropped, but all is divided by 1 - rate": x / (1 - rate),
        "nothing is dropped": x,
        "this is the mask's factor alone, without the numbers": mask / (1 - rate),
    }


def wrong_layers(p):
    x, weights, eps, rate, key = p.one
    a, (_, _), (h,) = inside(x, weights)

    def norm(total, eps=eps):
        return layer_norm_forward(total, weights["gain"], weights["bias"], eps)[0]

    def drop(array):
        return dropped(array, rate, key)

    return {
        f"the norm has an eps of 1e-12, where {eps:g} is given": norm(x + drop(a), 1e-12),
        "dropout is missing": norm(x + a),
        "the sum with x is dropped out; x itself must always pass": norm(drop(x + a)),
        "dropout comes after the norm; it must come before the sum with x": drop(norm(x + a)),
        "x is dropped out, where gelu's result must be": norm(drop(x) + a),
        "dropout comes before gelu; it must come after it": norm(x + gelu_forward(drop(h))[0]),
        "dropout is done on what w multiplies; it must come after gelu": norm(x + inside(drop(x), weights)[0]),
        "dropout is done twice": norm(x + drop(drop(a))),
        "x is not added": norm(drop(a)),
        "the norm is taken before the sum with x": x + norm(drop(a)),
        "the norm is taken first, of x": x + drop(inside(norm(x), weights)[0]),
        "gelu is left out": norm(x + drop(h)),
        "the norm is left out": x + drop(a),
        "the bias b is left out": norm(x + drop(gelu_forward(h - weights["b"])[0])),
        "w is transposed": norm(x + drop(inside(x, weights | {"w": weights["w"].T})[0])),
    }


def wrong_backs(p):
    """{mistake: (dx, gradients by name)} of a layer"""

    def back(**changed):
        return layer_back(p.dy, *p.one, **changed)

    (right, gradients), (branch, _) = back(), back(straight=0.0)
    straight = right - branch
    return {
        "dropout is forgotten on the way back": back(back=kept_all),
        "dropout is forgotten where forward is computed again": back(drop=kept_all),
        "dropout is forgotten, there and back": back(drop=kept_all, back=kept_all),
        "on the way back what is kept is not divided by 1 - rate":
            back(back=lambda x, rate, key: x * mask_of(x.shape, rate, key)),
        "dropout is done twice on the way back": back(back=lambda *given: dropped(dropped(*given), *given[1:])),
        "x is used twice, and its straight way through the sum is missing": (branch, gradients),
        "x is used twice, and its way through w is missing": (straight, gradients),
        "dropout is also done on x's straight way, which it does not touch":
            (branch + dropped(straight, p.rate, p.key), gradients),
        "dy itself is added for x's straight way; it must be what the norm's backward pass returns":
            (branch + p.dy, gradients),
        "this is of other weights: x is taken for dy": layer_back(p.x, *p.one),
    }  # fmt: skip


def other_keys(p):
    """{mistake: the keys of the layers}"""
    if p.key is None:
        return {}
    numbers = range(p.layers)
    ways = {
        "all layers have one mask; the layer's number must be in the key": p.keys[:1] * p.layers,
        "the layers are counted from 1; the first is 0": [(*p.key, i + 1) for i in numbers],
        "the masks are in reverse order: layer 0 has that of the last": p.keys[::-1],
        "the layer's number stands first in the key; it must stand last": [(i, *p.key) for i in numbers],
        "the layer's number is added to the key's last; it must be a number of its own":
            [(*p.key[:-1], p.key[-1] + i) for i in numbers],
        "no layer drops anything": [None] * p.layers,
    }  # fmt: skip
    return {says: keys for says, keys in ways.items() if keys != p.keys}


def wrong_encoders(p, place):
    """{mistake: (y, states)}; place: the state that is asked for, or -1 for y"""
    ways = {says: encoder(p, keys) for says, keys in other_keys(p).items()}
    if place == -1:
        y, states = encoder(p, p.keys)
        ways |= {
            "the last layer is missing": (states[-1], states),
            "one layer too many": (layer(y, p.weights, p.eps, p.rate, (*p.key, p.layers) if p.key else None), states),
        }
    return ways


def wrong_states(i, right):
    y, states = right
    return {
        "these are the states after the layers; what enters each is asked for": [*states[1:], y][i],
        "the list is in reverse order": states[::-1][i],
        "this is y: an array is changed after it was put into the list": y,
    }


def wrong_encoder_backs(p, states):
    """{mistake: (dx, gradients by name)}"""
    L = p.layers
    dx, gradients = encoder_back(p, states, p.keys)
    handed = [layer_back(p.dy, x, p.weights, p.eps, p.rate, key)[1] for x, key in zip(states, p.keys, strict=True)]
    ways = {says: encoder_back(p, states, keys) for says, keys in other_keys(p).items()}
    if L > 1:
        ways |= {
            "the states are taken in forward order; on the way back the last comes first":
                encoder_back(p, states[::-1], p.keys),
            "every layer has the first state": encoder_back(p, states[:1] * L, p.keys),
            "every layer has the last state": encoder_back(p, states[-1:] * L, p.keys),
            "the layers go back from the first to the last": encoder_back(p, states[::-1], p.keys[::-1]),
            "this is of the last layer alone": encoder_back(p, states[-1:], p.keys[-1:]),
            "the gradients are those of the first layer alone: add (+=), do not assign": (dx, gradients[-1:]),
            "the gradients are those of the last layer alone": (dx, gradients[:1]),
            "the layers' gradients are averaged; they must be added":
                (dx, [{name: array / L for name, array in added(gradients).items()}]),
            "every layer is handed dy; each needs the dx of the layer after it": (dx, handed),
        }  # fmt: skip
    return {says: (back, added(found)) for says, (back, found) in ways.items()}
