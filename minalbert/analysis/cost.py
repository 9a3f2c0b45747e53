"""What a step costs: operations, the optimiser's memory, and the bytes that machines add up together.

An operation is one multiplication or one addition, so a product of (m, k) and (k, n) costs 2 m k n. Only the
matrix products are counted. Backward takes two more of the same size for each: of y = a b, da = dy bᵀ and
db = aᵀ dy.

No formula below knows which layers share weights: a weight that is used L times is multiplied L times.
That is why ALBERT has a tenth of BERT's parameters and not a tenth of its running time.

Counted is what the mathematics needs. The fast path multiplies a little more, to keep less: attention's scores are made
twice (a sixtieth of ALBERT-base's step at T = 512), and so are the words' scores.
"""

from typing import NamedTuple

from ..params import HEADS, count
from .formulas import evaluate, sizes


class Product(NamedTuple):
    name: str
    formula: str                                     # multiply-adds for one sequence


LAYERS = (
    Product("query", "L T H H"),
    Product("key", "L T H H"),
    Product("value", "L T H H"),
    Product("attention scores", "L N T D T"),
    Product("attention context", "L N T T D"),
    Product("output", "L T H H"),
    Product("up", "L T H F"),
    Product("down", "L T F H"),
)
PROJECTION = Product("projection", "T E H")
MLM = (Product("masked words: dense", "P H E"), Product("masked words: scores", "P E V"))
POOLER = Product("pooler", "H H")
SOP = Product("sentence order", "H 2")


def products(config, heads=HEADS):
    """Every matrix product of a forward pass, in its order."""
    return (
        *([PROJECTION] if config.has_projection else []),
        *LAYERS,
        *(MLM if "mlm" in heads else []),
        *([POOLER] if "pooler" in heads else []),
        *([SOP] if "sop" in heads else []),
    )


def operations(product, config, T, P=None):
    """Of one product, for one sequence."""
    return 2 * evaluate(product.formula, sizes(config, T=T, P=P))


def forward_operations(config, T, P=None, heads=HEADS):
    """Of a forward pass over one sequence of T tokens, P of them predicted."""
    return sum(operations(product, config, T, P) for product in products(config, heads))


def training_operations(config, T, P=None, heads=HEADS, recompute=False):
    """Of a forward and a backward pass. `recompute` runs the layers forward a second time."""
    again = sum(operations(product, config, T, P) for product in LAYERS) if recompute else 0
    return 3 * forward_operations(config, T, P, heads) + again


def optimiser_bytes(config, itemsize=4, heads=HEADS):
    """What Adam and LAMB hold: weights, gradients, and two moments of the gradients. Shared weights count once."""
    size = count(config, heads) * itemsize
    return {"weights": size, "gradients": size, "first_moments": size, "second_moments": size}


def all_reduced_bytes(config, itemsize=4, heads=HEADS):
    """The gradients, which machines that split a batch must add up in every step."""
    return count(config, heads) * itemsize
