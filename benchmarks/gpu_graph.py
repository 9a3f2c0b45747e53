"""A gradient of a GPU, captured once into a CUDA graph and then started as one piece.

    step = GradientGraph(model, grads, batch, dropout)
    losses = step(other_batch, dropout)              # of the same shapes; grads hold its gradient

A step of ALBERT-base is some four hundred launches. Started one by one from Python they cost the host some
milliseconds, which is more than a small batch costs the GPU; a graph is started by one call.

What is captured is memory's addresses and not what is in it, so everything stays where it is. A batch is copied into
arrays of the graph's own; the dropout key is written to the GPU by `kernels.write_key`; the pass has memory of its own,
and what plain array operations take for their results comes from a pool of its own. Also captured are numbers that
Python hands to a kernel: another `scale` of float16's gradients needs another graph. So would the optimiser, whose
learning rate changes with every step: its launches follow outside.
"""

import contextlib

from minalbert.backend import array_module
from minalbert.model import pretraining_backward, pretraining_forward


def gradient_pass(model, memory, batch, grads, dropout=None, recompute=False, scale=1.0):
    """One pass, of which nobody waits for the GPU: `grads` become `scale` times the gradient. The losses."""
    pairs = model.pairs
    grads.flat.fill(0)
    ctx = pairs.context(pairs, model.config, model.params, batch.attention_mask, dropout, memory)
    losses, cache = pretraining_forward(batch, ctx, recompute=recompute)
    pretraining_backward(cache, ctx, grads, scale)
    return losses


class GradientGraph:
    def __init__(self, model, grads, batch, dropout=None, recompute=False, scale=1.0):
        """model: with fused kernels, on a GPU; batch: of the shapes that will come, on the GPU; dropout: a DropoutKey,
        or None where nothing is ever dropped."""
        cuda = array_module(grads.flat).cuda
        self.model, self.grads, self.dropout = model, grads, dropout is not None
        self.memory = model.pairs.memory(model.params)
        self.batch = type(batch)(*(array.copy() for array in batch))
        self.pool = cuda.MemoryPool()
        own = cuda.Stream(non_blocking=True)
        cuda.get_current_stream().synchronize()  # what the pass reads has been written
        with own, cuda.using_allocator(self.pool.malloc):
            for _ in range(2):  # the first compiles and finds how much memory it needs; the second gets it in one block
                self._pass(dropout, recompute, scale)
            own.synchronize()
            self._write(dropout)
            self.losses, self.graph = self._captured(own, dropout, recompute, scale)

    def __call__(self, batch, dropout=None):
        """The losses, arrays on the GPU that the next call writes over, as it does `grads`."""
        if any(mine.shape != array.shape for mine, array in zip(self.batch, batch, strict=True)):
            raise ValueError("a graph takes the shapes that it was captured with; this batch has others")
        if self.dropout != (dropout is not None):
            raise ValueError("a graph drops in every step or in none: it was captured with dropout or without")
        for mine, array in zip(self.batch, batch, strict=True):
            mine[...] = array
        self._write(dropout)
        self.graph.launch()  # on the current stream, where the copies went, too
        return self.losses

    def _write(self, dropout):
        if dropout is not None:
            self.memory.kernels.write_key(dropout)

    def _pass(self, dropout, recompute, scale):
        return gradient_pass(self.model, self.memory, self.batch, self.grads, dropout, recompute, scale)

    def _captured(self, own, *given):
        own.begin_capture()
        try:
            losses = self._pass(*given)
        except BaseException:
            with contextlib.suppress(RuntimeError):  # that the capture failed, the first error says better
                own.end_capture()
            raise
        return losses, own.end_capture()
