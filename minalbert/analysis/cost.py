"""The cost of a step: operations, the optimiser's memory, and the bytes that machines add up.

An operation is one multiplication or one addition, so a product of (m, k) and (k, n) costs 2 m k n. Only the
matrix products are counted. The backward pass has two more of the same size for each: for y = a b, they are
da = dy bᵀ and db = aᵀ dy.

No formula below depends on which layers share weights: a weight that is used L times is multiplied L times.
Therefore ALBERT has a tenth of BERT's parameters, but not a tenth of its running time.

The formulas count every layer at every token, as the paper does. A step does less: the losses read few tokens of the
last layer, and what is computed for the others alone, `unread_operations`, is left out. The fused kernels multiply a
little more, to keep less: they compute attention's scores twice (a sixtieth of ALBERT-base's step at T = 512), and the
words' scores too.
"""

from typing import NamedTuple

from ..params import HEADS, count
from .formulas import evaluate, sizes


class Product(NamedTuple):
    """A matrix product of the forward pass."""

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
FOR_ALL = ("key", "value")                           # needed for every token, whichever are read
PROJECTION = Product("projection", "T E H")
MLM = (Product("masked words: dense", "P H E"), Product("masked words: scores", "P E V"))
POOLER = Product("pooler", "H H")
SOP = Product("sentence order", "H 2")


def products(config, heads=HEADS):
    """All matrix products of a forward pass, in its order."""
    return (
        *([PROJECTION] if config.has_projection else []),
        *LAYERS,
        *(MLM if "mlm" in heads else []),
        *([POOLER] if "pooler" in heads else []),
        *([SOP] if "sop" in heads else []),
    )


def operations(product, config, T, P=None):
    """The operations of one product, for one sequence."""
    return 2 * evaluate(product.formula, sizes(config, T=T, P=P))


def forward_operations(config, T, P=None, heads=HEADS):
    """The operations of a forward pass over one sequence of T tokens, of which P are predicted."""
    return sum(operations(product, config, T, P) for product in products(config, heads))


def unread_operations(config, T, P=None):
    """The forward operations, for one sequence, of the last layer for T - (1 + P) tokens that no loss reads."""
    letters = sizes(config, T=T, P=P) | {"L": 1}
    per_query = sum(2 * evaluate(product.formula, letters) // T for product in LAYERS if product.name not in FOR_ALL)
    return per_query * (T - letters["Q"])


def training_operations(config, T, P=None, heads=HEADS, recompute=False):
    """The operations of a forward and a backward pass. `recompute` runs the layers forward a second time."""
    again = sum(operations(product, config, T, P) for product in LAYERS) if recompute else 0
    return 3 * forward_operations(config, T, P, heads) + again


def optimiser_bytes(config, itemsize=4, heads=HEADS):
    """The memory of Adam or LAMB: weights, gradients, and two moments. Shared weights count once."""
    size = count(config, heads) * itemsize
    return {"weights": size, "gradients": size, "first_moments": size, "second_moments": size}


def all_reduced_bytes(config, itemsize=4, heads=HEADS):
    """The bytes of the gradients, which machines that split a batch must add up in every step."""
    return count(config, heads) * itemsize
