"""Our training step in its stages, and how all sides are built, compared and timed, one group of them at a time.

A step: forward, backward, the gradient's norm limited to 1, LAMB. Both sides have the same weights and batch, no
padding and no dropout.
"""

import cupy
from gpu_clock import free, host_milliseconds, milliseconds
from gpu_graph import GradientGraph, gradient_pass
from workloads import Workload

from minalbert import Albert
from minalbert.analysis.cost import unread_operations
from minalbert.kernels.gpu.lamb import GpuLamb
from minalbert.optim import Lamb, Moments, clip_factor, global_norm

RATE = 1e-6
PLAIN, TF32, BF16, GRAPH = "plain CuPy, float32", "kernels, TF32", "kernels, bf16", "kernels, bf16, graph"
# What is compared is timed in turns; all at once would not fit the memory.
GROUPS = (
    # ours, PyTorch's precision
    ((BF16, GRAPH), "bf16"),
    ((TF32,), "TF32"),
    ((PLAIN,), None),
)
SAME = {"bf16": 1e-2, "TF32": 1e-3, None: 0.0}  # of the loss


class Step:
    """Takes steps; `bytes`: memory that it holds beside the pool that all share."""

    def __init__(self, stage, params, batch, config):
        self.params, self.moments, self.t = params, Moments.zeros(params), 0
        self.grads, self.batch, self.stage = params.zeros_like(), batch, stage
        compute = {} if stage == PLAIN else {"kernels": "fused", "precision": precision(stage)}
        self.model = Albert(config, params, **compute)
        self.memory, self.graph = self.model.pairs.memory(params), None
        self.plain_lamb, self.lamb = Lamb(), GpuLamb(Lamb(), params)
        if stage == GRAPH:
            self.graph = GradientGraph(self.model, self.grads, batch)

    def __call__(self):
        """The loss, on the GPU."""
        self.t += 1
        if self.graph:
            losses = self.graph(self.batch)
        else:
            losses = gradient_pass(self.model, self.memory, self.batch, self.grads)
        given = self.params, self.grads, self.moments, RATE, self.t
        if self.stage == PLAIN:
            self.plain_lamb.step(*given, clip_factor(global_norm(self.grads), 1.0))
        else:
            _, scale = self.lamb.gradient_scale(self.grads, 1.0)
            self.lamb.step(*given, scale)
        return losses.total

    @property
    def bytes(self):
        return self.graph.pool.total_bytes() if self.graph else 0


def precision(stage):
    return "tf32" if stage == TF32 else "bf16"


def measure(sizes, size, length, rate, torch_steps=None):
    """{side: {"milliseconds", "host", "bytes", "share"} or a sentence why there is none}

    rate: operations a second of the large bf16 product; torch_steps(params, batch, config, precision) -> {side: step}
    """
    work, found = Workload(sizes.config, size, length), {}
    batch, params = work.batch(), Albert.init(sizes.config, seed=1).params
    for stages, theirs in GROUPS:
        makers = {stage: lambda stage=stage: Step(stage, params.to("cuda"), batch.to("cuda"), sizes.config)
                  for stage in stages}  # fmt: skip
        if torch_steps and theirs:
            makers |= torch_steps(params, batch, sizes.config, theirs)
        steps, memory, losses = {}, {}, {}
        for name, make in makers.items():
            try:
                steps[name], memory[name], losses[name] = built(make)
            except Exception as error:  # one side that fails must not cost the others their hour
                found[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        first = next(iter(losses.values()), None)
        for name, loss in losses.items():
            if not abs(loss - first) <= SAME[theirs] * abs(first):
                found[name] = f"its loss is {loss}, that of {next(iter(losses))} {first}: nothing to compare"
                del steps[name]
        times = milliseconds(steps, sizes) if steps else {}
        for name, time in times.items():
            share = operations(work, ours=name in stages) / (time / 1000) / rate
            host = host_milliseconds(steps[name], sizes)
            found[name] = {"milliseconds": time, "host": host, "bytes": memory[name], "share": share}
        del steps, makers
        free()
    return found


def operations(work, ours):
    """The operations of a step's matrix products; ours omits what no loss reads of the last layer."""
    unread = 3 * work.size * unread_operations(work.config, work.length, work.predictions)
    return work.training_operations() - (unread if ours else 0)


def built(make):
    """The step, the memory that it takes for two of them, and the first one's loss."""
    pool = cupy.get_default_memory_pool()
    free()
    before = pool.total_bytes()
    step = make()
    loss = float(step())
    step()
    cupy.cuda.Device().synchronize()
    return step, pool.total_bytes() - before + step.bytes, loss
