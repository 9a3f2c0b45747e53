"""A gradient of a GPU, captured once into a CUDA graph and then launched as a whole.

    step = GradientGraph(model, grads, batch, dropout)
    losses = step(batch, dropout)                    # other examples, the same shapes; grads hold their gradient

A step of ALBERT-base is some four hundred launches. Launched one by one from Python they cost the host some
milliseconds, which is more than a small batch costs the GPU; a graph is launched by one call.

A capture records the addresses of memory and not what is in it, so everything stays where it is. A batch is copied
into arrays of the graph's own; the dropout key is written by `kernels.write_key`; the memory of the pass, and what
plain array operations take for their results, come from a pool that nobody else uses, and are kept as long as the
graph. A capture also records the numbers that Python hands to a kernel: another `scale` of float16's gradients needs
another graph, and so would the optimiser, whose learning rate changes with every step. Its launches follow outside.
"""

import contextlib

from minalbert.backend import array_module
from minalbert.model import pretraining_backward, pretraining_forward


def gradient_pass(model, memory, batch, grads, dropout=None, recompute=False, scale=1.0):
    """One pass, without a check that would wait for the GPU: `grads` become `scale` times the gradient. The losses."""
    pairs = model.pairs
    grads.flat.fill(0)
    ctx = pairs.context(pairs, model.config, model.params, batch.attention_mask, dropout, memory)
    losses, cache = pretraining_forward(batch, ctx, recompute=recompute)
    pretraining_backward(cache, ctx, grads, scale)
    return losses


class GradientGraph:
    def __init__(self, model, grads, batch, dropout=None, recompute=False, scale=1.0):
        """model: with fused kernels on a GPU; batch: of the shapes that will come; dropout: a DropoutKey, or None if
        nothing is ever dropped."""
        cuda = array_module(grads.flat).cuda
        self.model, self.grads, self.drops = model, grads, dropout is not None
        self.recompute, self.scale = recompute, scale
        self.batch = type(batch)(*(array.copy() for array in batch))
        self.pool = cuda.MemoryPool()
        own = cuda.Stream(non_blocking=True)
        cuda.get_current_stream().synchronize()  # what the pass reads has been written
        with own, cuda.using_allocator(self.pool.malloc):
            self.memory = model.pairs.memory(model.params)
            self._write_key(dropout)
            self._pass(dropout)  # compiles, and asks for all memory in its largest size
            for arena in (self.memory.arena, self.memory.scratch):
                arena.release(0)  # one block from now on
            own.synchronize()
            self.losses, self.graph = self._captured(own, dropout)

    def __call__(self, batch, dropout=None):
        """The losses, arrays on the GPU that the next call writes over, and so are `grads`."""
        if any(mine.shape != array.shape for mine, array in zip(self.batch, batch, strict=True)):
            raise ValueError("a graph takes the shapes that it was captured with; this batch has others")
        if self.drops != (dropout is not None):
            raise ValueError("a graph drops in every step or in none: it was captured with dropout or without")
        for mine, array in zip(self.batch, batch, strict=True):
            mine[...] = array
        self._write_key(dropout)
        self.graph.launch()  # on the current stream, where the copies went, too
        return self.losses

    def _write_key(self, dropout):
        if dropout is not None:
            self.memory.kernels.write_key(dropout)

    def _pass(self, dropout):
        return gradient_pass(self.model, self.memory, self.batch, self.grads, dropout, self.recompute, self.scale)

    def _captured(self, own, dropout):
        own.begin_capture()
        try:
            losses = self._pass(dropout)
        except BaseException:
            with contextlib.suppress(RuntimeError):  # that the capture came to nothing, the first error says better
                own.end_capture()
            raise
        return losses, own.end_capture()
