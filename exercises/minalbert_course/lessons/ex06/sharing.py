"""Exercise 6: a block, applied L times with the same weights. Variants: `groups`, `ffn`, `dropout`."""

from minalbert.model import block

from ...block import block_backward, block_forward, encoder_forward
from ...compare import same
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers
from ..corners import also, guessing, something
from ..matches import matches
from .gradients_by_name import DEEP, by_name, of_passes, same_gradients
from .passes import (
    BLOCKS,
    COMPARED,
    ENCODERS,
    LAYERS,
    added,
    alike,
    as_gone,
    as_transformers,
    cache_untouched,
    drawn_weights,
    encoder_check,
    how_many,
    misled,
    moved,
    natural,
    outside_point,
    passes,
    point,
    ramps,
    slips,
    suspects_of,
    wrong_sums,
)
from .wrong_blocks import forms, gone_back, left_out

GIVEN_BLOCKS = (
    block.block_forward, block.block_backward, block.attention_half_forward, block.attention_half_backward,
    block.ffn_half_forward, block.ffn_half_backward, block_forward, block_backward,
)  # fmt: skip
lesson = Lesson(
    "ex06", "a block and its sharing", minutes=80,
    functions={
        "block_forward": "y, cache",
        "block_backward": "dx, dweights",
        "encoder_forward": "y, cache",
        "encoder_backward": "dx, dweights",
    },
    withheld=ENCODERS + GIVEN_BLOCKS,
    usual_references={"encoder_forward": lambda x, weights, mask, heads, eps, layers: encoder_forward(
        x, [weights] * layers, mask, heads, eps)},
    own_results=("block_forward", "block_backward", "encoder_forward", "encoder_backward"),
)  # fmt: skip

SUM = "dweights = Σ over passes: L copies of the weights, each with its own gradient, and then the copies are one"


def one(draw, H, F):
    return [drawn_weights(draw, H, F)]


def shared(draw, H, F):
    return one(draw, H, F) * how_many(draw)


@lesson.check(1.5, "block", of="block_forward", formula="x = norm(x + attention(x)), x = norm(x + down(gelu(up(x))))")
@also(*BLOCKS)
def block_value(yours, draw):
    p = point(draw, one)
    y, _ = yours.block_forward(p.x, p.sets[0], p.mask, p.heads, p.eps)
    expected, _ = block_forward(p.x, p.sets[0], p.mask, p.heads, p.eps)
    matches("y", y, expected, "bth", lambda: forms(p), given=(
        lambda x, mask: block_forward(x, p.sets[0], mask, p.heads, p.eps)[0], {"x": p.x, "mask": p.mask}))  # fmt: skip
    if draw.first:
        compare_trained(yours, p)


def compare_trained(yours, p):
    """The same dict with other arrays in it, as after a step of training."""
    for weights in (p.sets[0], {name: 0.5 * array for name, array in p.sets[0].items()}):
        y, _ = yours.block_forward(p.x, Given.of("one dict", weights), p.mask, p.heads, p.eps)
        with guessing("perhaps: arrays are kept from an earlier call with the same dict, in which others are now"):
            same("y, with other weights in the same dict,", y, block_forward(p.x, weights, p.mask, p.heads, p.eps)[0])


@lesson.check(1.5, "block dx", of="block_backward", formula="through the norm to d, then dx = d + the branch's dx of d")
@also(*BLOCKS)
def block_gradient(yours, draw):
    p = point(draw, one)
    dx, _ = yours.forward_and_back("block", p.dy, p.x, p.sets[0], p.mask, p.heads, p.eps)
    matches("dx", dx, gone_back(p)[0], "bth", lambda: {says: back[0] for says, back in left_out(p).items()},
            natural=natural(p), given=(lambda dy: gone_back(p._replace(dy=dy))[0], {"dy": p.dy}))  # fmt: skip


@lesson.check(2, "block dweights", of="block_backward", formula="a gradient for each of the 16 tensors, under its name")
@also(*BLOCKS)
def block_weights(yours, draw):
    p = point(draw, one)
    _, dweights = yours.forward_and_back("block", p.dy, p.x, p.sets[0], p.mask, p.heads, p.eps)
    by_name("dweights", dweights, p.sets[0])
    expected = gone_back(p)[1]
    same_gradients("dweights", dweights, expected, lambda: {says: way[1] for says, way in left_out(p).items()})


def counts(p):
    L = len(p.sets)
    return {f"this is the state after {n} of {L} passes": p.sets[:1] * n for n in range(1, L + 3) if n != L}


def forward(yours, p):
    return yours.encoder_forward(p.x, p.sets[0], p.mask, p.heads, p.eps, len(p.sets))


@lesson.check(1, "encoder", of="encoder_forward", formula="x = block(x), `layers` times, always with the same weights")
@also(*LAYERS)
def encoder_value(yours, draw):
    p = point(draw, shared)
    y, _ = forward(yours, p)
    ways = counts(p)

    def suspects():
        return suspects_of(p, ways) | misled(p)

    encoder_check(yours, p, lambda right: matches("y", y, right.y, "bth", suspects, limit=DEEP,
                                                    given=moved(p)))  # fmt: skip


@lesson.check(1, "encoder dx", of="encoder_backward", formula="from the last pass to the first, each with its cache")
@also(*LAYERS)
def encoder_gradient(yours, draw):
    p = point(draw, shared)
    y, cache = forward(yours, p)
    dx, _ = yours.encoder_backward(p.dy, cache)
    if len(p.sets) == 1 and alike(y, p.x):
        return                                       # a pass too few, which costs its points above
    p = as_gone(p, y, counts(p))

    def compare(right):
        matches("dx", dx, right.dx, "bth", lambda: {says: back[0] for says, back in slips(p).items()}, limit=DEEP,
                natural=natural(p), given=(lambda dy: passes(p._replace(dy=dy)).dx, {"dy": p.dy}))  # fmt: skip

    encoder_check(yours, p, compare)


@lesson.check(2, "encoder dweights", of="encoder_backward", formula=SUM)
@also(*LAYERS)
def encoder_weights(yours, draw):
    p = point(draw, shared)
    y, cache = forward(yours, p)
    _, dweights = yours.encoder_backward(p.dy, cache)
    if len(p.sets) == 1 and alike(y, p.x):
        return                                       # a pass too few, which costs its points above
    by_name("dweights", dweights, p.sets[0])
    p = as_gone(p, y, counts(p))

    def compare(right):
        gradients = right.gradients
        same_gradients("dweights", dweights, added(gradients), lambda: wrong_sums(p, added), of_passes(gradients))

    encoder_check(yours, p, compare)


@lesson.check(0.5, "as transformers", of="encoder_backward", formula="the encoder of AlbertModel, in three passes")
def outside(yours, draw):
    p = outside_point([ramps(8, 12)] * 3)
    y, cache = forward(yours, p)
    dx, dweights = yours.encoder_backward(p.dy, cache)
    as_transformers("shared", y, dx)
    by_name("dweights", dweights, p.sets[0])
    for name in COMPARED:
        named = f"dweights[{name!r}] (transformers' numbers)"
        same(named, dweights[name], numbers("ex06")[f"shared.{name}"], limit=DEEP)


@lesson.check(0.5, "inputs untouched", of="encoder_backward")
def purity(yours, draw):
    p = point(draw, shared)
    out, cache = yours.block_forward(p.x, p.sets[0], p.mask, p.heads, p.eps)
    back, dblock = yours.block_backward(p.dy, cache)
    cache_untouched(yours)
    y, cache = forward(yours, p)
    dx, dweights = yours.encoder_backward(p.dy, cache)
    cache_untouched(yours)
    something(block=out, dx_of_block=back, dweights_of_block=dblock, y=y, dx=dx, dweights=dweights)
    yours.untouched()
