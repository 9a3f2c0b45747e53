"""Tier 2: the model. It knows the parameters' names, and calls the pairs of `layers`.

A pair of the block is `y, cache = f_forward(x, layer, ctx)` and `dx = f_backward(dy, cache, ctx, grads)`: the gradient
of an activation is returned, the gradient of a parameter is added to `grads`. (`context` lists all five pairs: the
embeddings have no dx, and the losses add to `dhidden`, because both read it.) The addition is all that ALBERT's sharing
needs: a layer that is applied L times adds L times into one tensor. `gradients.add_to` is where it happens.

Read in this order: context, embeddings, block, encoder, reversible, heads, pretraining. `PLAIN` names the five pairs of
this folder; `minalbert.fused` has the same five, written for speed, and `pretraining` runs whichever it is given.
"""

from .block import attention_half_backward, attention_half_forward, ffn_half_backward, ffn_half_forward
from .context import Context, Pair, Pairs
from .embeddings import embeddings_backward, embeddings_forward
from .heads import mlm_loss_backward, mlm_loss_forward, sop_loss_backward, sop_loss_forward
from .pretraining import Losses, Totals, pretraining_backward, pretraining_forward

PLAIN = Pairs(
    embeddings=Pair(embeddings_forward, embeddings_backward),
    attention_half=Pair(attention_half_forward, attention_half_backward),
    ffn_half=Pair(ffn_half_forward, ffn_half_backward),
    mlm_loss=Pair(mlm_loss_forward, mlm_loss_backward),
    sop_loss=Pair(sop_loss_forward, sop_loss_backward),
)
