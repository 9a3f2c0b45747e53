"""A gradient step of a GPU, captured once into a CUDA graph and then started as one piece.

    step = GradientGraph(engine, grads, inputs, stream)
    losses = step(inputs, stream)                    # other examples, the same shapes; grads hold their gradient

A step of ALBERT-base is some four hundred launches. Started one by one from Python they cost the host some
milliseconds, which is more than a small batch costs the GPU; a graph is started by one call.

What is captured is memory's addresses and not what is in it, so that everything stays where it is. A batch is copied
into arrays of ours; dropout's place is written by `kernels.at`; the engine's buffers and what plain array operations
take for their results, from a pool that nobody else uses, are kept as long as the graph. What is captured are numbers,
too, that Python hands to a kernel: a `scale` of float16's gradients that has changed needs another graph, and so does
the optimiser, whose rate changes with every step. Its launches follow outside.
"""

import contextlib

from ..backend import array_module
from ..model.pretraining import Losses


class GradientGraph:
    def __init__(self, engine, grads, inputs, stream=None, keep="all", scale=1.0):
        """inputs: a Prepared of the shapes that will come; stream: None where nothing is ever dropped."""
        cuda = array_module(grads.flat).cuda
        self.engine, self.grads, self.drops = engine, grads, stream is not None
        self.keep, self.scale = keep, scale
        self.inputs = type(inputs)(*(None if array is None else array.copy() for array in inputs))
        self.pool = cuda.MemoryPool()
        own = cuda.Stream(non_blocking=True)
        cuda.get_current_stream().synchronize() # what the step reads has been written
        with own, cuda.using_allocator(self.pool.malloc):
            self._go_to(stream)
            self._pass(stream)                       # compiles, and asks for every buffer in its largest size
            own.synchronize()
            self.losses, self.graph = self._captured(own, stream)
        self.buffers = list(engine.workspace._blocks.values())           # which a larger batch makes the engine drop

    def __call__(self, inputs, stream=None):
        """The losses, arrays on the GPU that the next call writes over, and so are `grads`."""
        for mine, array in zip(self.inputs, inputs, strict=True):
            if (mine is None) != (array is None) or (mine is not None and mine.shape != array.shape):
                raise ValueError("a graph takes the shapes that it was captured with; this batch has others")
        if self.drops != (stream is not None):
            raise ValueError("a graph drops in every step or in none: it was captured with dropout or without")
        for mine, array in zip(self.inputs, inputs, strict=True):
            if mine is not None:
                mine[...] = array
        self._go_to(stream)
        self.graph.launch()                          # on the current stream, where the copies went, too
        return self.losses

    def _go_to(self, stream):
        if stream is not None:
            self.engine.kernels.at(stream)

    def _pass(self, stream):
        self.grads.flat.fill(0)
        losses = self.engine.forward_prepared(self.inputs, stream, self.keep)
        self.engine.backward(self.grads, self.scale)
        return Losses(*losses)

    def _captured(self, own, stream):
        own.begin_capture()
        try:
            losses = self._pass(stream)
        except BaseException:
            with contextlib.suppress(RuntimeError):  # that the capture came to nothing, the first error says better
                own.end_capture()
            raise
        return losses, own.end_capture()
