"""What every function of a pass is told: the model, the part of the batch, and where to write."""

from typing import Any, NamedTuple

from ..kernels import Dropout
from ..params import part_name


class Part(NamedTuple):
    """Some examples of a batch on their way through the model; R = B·T rows, one for each token."""

    kernels: Any                                     # kernels.cpu, or those of a GPU
    params: Any
    operands: Any                                    # the weights as `gemm` reads them: params, or half as wide
    config: Any
    workspace: Any
    mask: Any                                        # (B, T), added to scores
    stream: Any                                      # dropout's coins, or None
    keep: str                                        # for backward: "all", "inputs" of layers, or "nothing"

    def rows(self, name, columns):
        B, T = self.mask.shape
        return self.workspace(name, (B * T, columns))

    def row_numbers(self, name):
        """One statistic a row, never in half precision."""
        B, T = self.mask.shape
        return self.workspace(name, (B * T,), self.params.dtype)

    def tensors(self, part, layer, names):
        prefix = part_name(self.config, part, layer)
        return [self.tensor(f"{prefix}.{name}") for name in names]

    def tensor(self, name):
        return self.operands[name] if name.endswith(".w") else self.params[name]

    def gradients(self, grads, part, layer, names):
        prefix = part_name(self.config, part, layer)
        return [grads[f"{prefix}.{name}"] for name in names]

    def coins(self, rate, **place):
        """Of a site, and a layer if it is in one; None where nothing is dropped."""
        if self.stream is None or rate == 0.0:
            return None
        return Dropout(rate, self.stream.at(**place), self.mask.shape[1])
