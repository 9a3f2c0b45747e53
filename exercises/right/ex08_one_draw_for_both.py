"""One draw says where to cut and whether to swap: each pair of answers has the same chance."""


def order_pair(document, rng):
    cut, swapped = divmod(int(rng.integers(2, 2 * len(document))), 2)
    parts = [[token for sentence in part for token in sentence] for part in (document[:cut], document[cut:])]
    return (*parts[::-1], 1) if swapped else (*parts, 0)
