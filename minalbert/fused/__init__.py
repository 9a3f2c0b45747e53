"""The five pairs of `minalbert.model` once more, made of `kernels` over an arena: for speed.

A fused pair has the arguments and results of its plain twin, to rounding. It may destroy `dy`, and its arrays live in
the memory of its pass; nothing else about it can be noticed. The loop over layers, sharing, recomputation and the two
tasks are `model`'s own: there is one model. Read each file beside its twin: context, embeddings, block, heads; arena
is the memory.
"""

import functools

from ..backend import array_module
from ..kernels import kernels_for
from ..model.context import Pair, Pairs
from .arena import Arena
from .block import attention_half_backward, attention_half_forward, ffn_half_backward, ffn_half_forward
from .context import Memory, fused_context
from .embeddings import embeddings_backward, embeddings_forward
from .heads import mlm_loss_backward, mlm_loss_forward, sop_loss_backward, sop_loss_forward


def fused_pairs(kernels="fused", precision="full"):
    return Pairs(
        embeddings=Pair(embeddings_forward, embeddings_backward),
        attention_half=Pair(attention_half_forward, attention_half_backward),
        ffn_half=Pair(ffn_half_forward, ffn_half_backward),
        mlm_loss=Pair(mlm_loss_forward, mlm_loss_backward),
        sop_loss=Pair(sop_loss_forward, sop_loss_backward),
        context=fused_context,
        memory=functools.partial(new_memory, kernels=kernels, precision=precision),
    )


def new_memory(params, kernels="fused", precision="full"):
    xp = array_module(params.flat)
    return Memory(kernels_for(kernels, precision, params.device), Arena(xp), Arena(xp))


def optimiser_for(optimiser, params, kernels, threads=0):
    """The twin of an optimiser that these kernels have, with the same `step`; the optimiser itself if there is none.

    "compiled" has AdamW and LAMB for the CPU, on so many threads; a GPU has LAMB for float32 weights.
    """
    if params.device == "cpu":
        if kernels != "compiled":
            return optimiser
        from ..kernels.compiled import optimisers

        return optimisers.optimiser_for(optimiser, params, threads)
    if params.dtype != "float32" or kernels == "plain":
        return optimiser
    from ..kernels import gpu
    from ..kernels.gpu import lamb

    return optimiser if gpu.missing() else lamb.optimiser_for(optimiser, params)
