"""One model on several ranks: each has a share of the heads, of the FFN's inner width and of the vocabulary.

A sublayer is two linear maps with something between them that treats its numbers, or its heads, one by one. So the
first is split by columns and the second by rows (Shoeybi et al. 2019, Megatron-LM), and only sums are exchanged. With
weights w = [w_1 w_2 ...] of rank 1, 2, ...:

    columns    h_k = x w_k + b_k                     dx = Σ_k dh_k w_kᵀ, an exchange going backward
    rows       y = Σ_k h_k w_k + b                   an exchange going forward; dh_k = dy w_kᵀ

A layer has two sublayers: two exchanges forward, two backward. What lies between sublayers (residuals, norms, dropout
of hidden states) has the same bits on every rank, and so have the gradients of tensors that are not split. A bias that
belongs to a sum is the first rank's; the others add zeros.

Every number of a sublayer's output crosses the wire, in each layer, whether or not layers share their weights: ALBERT's
sharing saves nothing here.

    weights        who has which rows and columns
    exchange       the sum over ranks
    cross_entropy  the loss over a vocabulary of which no rank has all
    embeddings, block, heads       twins of the files of `model`: read them side by side
    optimiser      LAMB's norms, and the whole gradient's, over all shares
"""

import functools

from ..model import PLAIN
from ..model.context import Pair
from .block import attention_half_backward, attention_half_forward, ffn_half_backward, ffn_half_forward
from .embeddings import embeddings_backward, embeddings_forward
from .exchange import Exchange
from .heads import mlm_loss_backward, mlm_loss_forward
from .optimiser import norm_over, optimiser_over
from .weights import ModelShare, check_split, share_of, whole_of


def split_pairs(exchange):
    """The five pairs for a rank's share of the weights. SOP's head is small, so every rank has all of it."""
    def pair(forward, backward):
        return Pair(functools.partial(forward, exchange=exchange), functools.partial(backward, exchange=exchange))

    return PLAIN._replace(
        embeddings=pair(embeddings_forward, embeddings_backward),
        attention_half=pair(attention_half_forward, attention_half_backward),
        ffn_half=pair(ffn_half_forward, ffn_half_backward),
        mlm_loss=pair(mlm_loss_forward, mlm_loss_backward),
    )


def model_share(config, params, ranks):
    """This rank's share of a whole model, and the pairs that compute with it."""
    return ModelShare(config, share_of(params, ranks.rank, ranks.size), split_pairs(Exchange(ranks)))
