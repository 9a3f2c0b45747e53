"""A gradient step of a GPU, captured once into a CUDA graph and then launched as a whole.

    step = GradientGraph(model, grads, batch, key)
    losses = step(batch, key)                        # other examples, the same shapes; grads hold their gradient

A step of ALBERT-base is some four hundred launches. Launched one by one from Python they cost the host some
milliseconds, which is more than a small batch costs the GPU; a graph is launched by one call.

A capture records the addresses of memory and not what is in it, so everything stays where it is. A batch is copied
into arrays of ours; the dropout key is written by `kernels.write_key`; the memory of the pass, and what plain array
operations take for their results, from a pool that nobody else uses, are kept as long as the graph. A capture also
records the numbers that Python hands to a kernel: another `scale` of float16's gradients needs another graph, and so
would the optimiser, whose learning rate changes with every step. Its launches follow outside.
"""

import contextlib

from ..backend import array_module
from ..model.pretraining import Losses, pretraining_backward, pretraining_forward


class GradientGraph:
    def __init__(self, model, grads, batch, key=None, recompute=False, scale=1.0):
        """model: with fused kernels on a GPU; batch: of the shapes that will come; key: None if nothing is ever
        dropped."""
        cuda = array_module(grads.flat).cuda
        self.model, self.grads, self.drops = model, grads, key is not None
        self.recompute, self.scale = recompute, scale
        self.batch = type(batch)(*(array.copy() for array in batch))
        self.pool = cuda.MemoryPool()
        own = cuda.Stream(non_blocking=True)
        cuda.get_current_stream().synchronize()      # what the step reads has been written
        with own, cuda.using_allocator(self.pool.malloc):
            self.memory = model.pairs.memory(model.params)
            self._write_key(key)
            self._pass(key)                          # compiles, and asks for all memory in its largest size
            for arena in (self.memory.arena, self.memory.scratch):
                arena.release(0)                     # one block from now on
            own.synchronize()
            self.losses, self.graph = self._captured(own, key)

    def __call__(self, batch, key=None):
        """The losses, arrays on the GPU that the next call writes over, and so are `grads`."""
        if any(mine.shape != array.shape for mine, array in zip(self.batch, batch, strict=True)):
            raise ValueError("a graph takes the shapes that it was captured with; this batch has others")
        if self.drops != (key is not None):
            raise ValueError("a graph drops in every step or in none: it was captured with dropout or without")
        for mine, array in zip(self.batch, batch, strict=True):
            mine[...] = array
        self._write_key(key)
        self.graph.launch()                          # on the current stream, where the copies went, too
        return self.losses

    def _write_key(self, key):
        if key is not None:
            self.memory.kernels.write_key(key)

    def _pass(self, key):
        model, batch = self.model, self.batch
        self.grads.flat.fill(0)
        ctx = model.pairs.context(model.pairs, model.config, model.params, batch.attention_mask, key, self.memory)
        losses, cache = pretraining_forward(batch, ctx, recompute=self.recompute)
        pretraining_backward(cache, ctx, self.grads, self.scale)
        return Losses(*losses)

    def _captured(self, own, key):
        own.begin_capture()
        try:
            losses = self._pass(key)
        except BaseException:
            with contextlib.suppress(RuntimeError):  # that the capture came to nothing, the first error says better
                own.end_capture()
            raise
        return losses, own.end_capture()
