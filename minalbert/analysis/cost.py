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
SPARSE = {
    "attention scores": "L N D A",
    "attention context": "L N A D",
}
FOR_ALL = ("key", "value")                           # needed for every token, whichever are read
IN_TILES = ("query", *SPARSE)                        # and these, where tiles have all tokens' queries
PROJECTION = Product("projection", "T E H")
MLM = (Product("masked words: dense", "P H E"), Product("masked words: scores", "P E V"))
POOLER = Product("pooler", "H H")
SOP = Product("sentence order", "H 2")


def layer_products(config):
    if config.attention == "full":
        return LAYERS
    return tuple(product._replace(formula=SPARSE.get(product.name, product.formula)) for product in LAYERS)


def products(config, heads=HEADS):
    """All matrix products of a forward pass, in its order."""
    return (
        *([PROJECTION] if config.has_projection else []),
        *layer_products(config),
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
    letters, needed = sizes(config, T=T, P=P) | {"L": 1}, FOR_ALL if config.attention == "full" else FOR_ALL + IN_TILES
    left_out = [product for product in layer_products(config) if product.name not in needed]
    per_query = sum(2 * evaluate(product.formula, letters) // T for product in left_out)
    return per_query * (T - letters["Q"])


def training_operations(config, T, P=None, heads=HEADS, recompute=False):
    """The operations of a forward and a backward pass. Recomputation and reversible layers run forward once more."""
    twice = recompute or config.reversible
    again = sum(operations(product, config, T, P) for product in layer_products(config)) if twice else 0
    return 3 * forward_operations(config, T, P, heads) + again


def optimiser_bytes(config, itemsize=4, heads=HEADS):
    """The memory of Adam or LAMB: weights, gradients, and two moments. Shared weights count once."""
    size = count(config, heads) * itemsize
    return {"weights": size, "gradients": size, "first_moments": size, "second_moments": size}


def all_reduced_bytes(config, itemsize=4, heads=HEADS):
    """The bytes of the gradients, which machines that split a batch must add up in every step."""
    return count(config, heads) * itemsize
