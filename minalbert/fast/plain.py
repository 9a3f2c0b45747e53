"""The plain model behind an engine's doors: for arrays that no kernels are written for, and to compare with."""

from ..layers import key_mask
from ..model.embeddings import embeddings_forward
from ..model.encoder import Context, encoder_states
from ..model.pretraining import pretraining_backward, pretraining_forward


class PlainEngine:
    def __init__(self, config, params):
        self.config, self.params = config, params
        self._cache = None

    def states(self, batch):
        x, _ = embeddings_forward(batch.input_ids, batch.token_type_ids, self.params, self.config)
        yield from encoder_states(x, Context(self.params, key_mask(batch.attention_mask, x.dtype), self.config))

    def forward(self, batch, stream, totals, keep):
        losses, cache = pretraining_forward(
            self.params, batch, self.config, stream, recompute=keep != "all", totals=totals
        )
        self._cache = None if keep == "nothing" else cache
        return losses

    def backward(self, grads, scale=1.0):
        cache, self._cache = self._cache, None
        pretraining_backward(cache, grads, scale)
