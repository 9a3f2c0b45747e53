"""The same step in PyTorch, as one would write it for speed: merged query, key and value, PyTorch's own attention
(sdpa) and tanh GELU, words scored at masked positions only, fused AdamW (PyTorch has no LAMB; AdamW has less to do).
The batch has no padding, so that its attention is given no mask, which ours reads. Eager, or compiled."""

import math

import torch
from torch.nn import functional as F

from minalbert.optim import exempt

torch.set_float32_matmul_precision("high")  # TF32


class Net(torch.nn.Module):
    def __init__(self, params, config):
        super().__init__()
        self.config = config
        parts = [f"encoder.attention.{name}" for name in ("query", "key", "value")]
        arrays = {name: torch.tensor(array) for name, array in params.items() if not name.startswith(tuple(parts))}
        arrays["qkv.w"] = torch.cat([torch.tensor(params[f"{part}.w"]) for part in parts], dim=1)
        arrays["qkv.b"] = torch.cat([torch.tensor(params[f"{part}.b"]) for part in parts])
        # (in, out) as ours is; torch's is (out, in)
        arrays = {name: array.T.contiguous() if name.endswith(".w") else array for name, array in arrays.items()}
        self.weights = torch.nn.ParameterDict({key(name): torch.nn.Parameter(array) for name, array in arrays.items()})

    def __getitem__(self, name):
        return self.weights[key(name)]

    def linear(self, x, name):
        return F.linear(x, self[f"{name}.w"], self[f"{name}.b"])

    def norm(self, x, name):
        gain = self[f"{name}.gain"]
        return F.layer_norm(x, gain.shape, gain, self[f"{name}.bias"], self.config.layer_norm_eps)

    def forward(self, ids, types, positions, labels, orders):
        """Both losses added."""
        N, (B, T) = self.config.num_attention_heads, ids.shape
        x = F.embedding(ids, self["embeddings.word"]) + self["embeddings.position"][:T]
        x = self.norm(x + F.embedding(types, self["embeddings.token_type"]), "embeddings.norm")
        x = self.linear(x, "embeddings.projection")
        for _ in range(self.config.num_hidden_layers):
            q, k, v = self.linear(x, "qkv").view(B, T, 3, N, -1).permute(2, 0, 3, 1, 4)
            context = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, T, -1)
            x = self.norm(x + self.linear(context, "encoder.attention.output"), "encoder.attention.norm")
            y = F.gelu(self.linear(x, "encoder.ffn.up"), approximate="tanh")
            x = self.norm(x + self.linear(y, "encoder.ffn.down"), "encoder.ffn.norm")
        masked = x.gather(1, positions[..., None].expand(-1, -1, x.shape[2])).flatten(0, 1)
        y = self.norm(F.gelu(self.linear(masked, "mlm.dense"), approximate="tanh"), "mlm.norm")
        scores = F.linear(y, self["embeddings.word"], self["mlm.bias"])
        order = self.linear(torch.tanh(self.linear(x[:, 0], "pooler")), "sop")
        return F.cross_entropy(scores.float(), labels.flatten()) + F.cross_entropy(order.float(), orders)


def key(name):
    return name.replace(".", "_")


class Step:
    bytes = 0

    def __init__(self, params, batch, config, precision, compiled, device="cuda"):
        before = torch.cuda.memory_allocated() if device == "cuda" else 0
        self.device, self.bf16, self.net = device, precision == "bf16", Net(params, config).to(device)
        tensors = dict(self.net.weights.items())
        spared = [tensor for name, tensor in tensors.items() if exempt(name, tensor)]
        others = [tensor for name, tensor in tensors.items() if not exempt(name, tensor)]
        groups = [{"params": others, "weight_decay": 0.01}, {"params": spared, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=1e-6, eps=1e-6, fused=True)
        names = ("input_ids", "token_type_ids", "mlm_positions", "mlm_labels", "sop_labels")
        self.inputs = [torch.tensor(getattr(batch, name), device=device) for name in names]
        self.forward, self.before = torch.compile(self.net) if compiled else self.net, before

    def __call__(self):
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, enabled=self.bf16):
            loss = self.forward(*self.inputs)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimiser.step()
        if self.device == "cuda":
            self.bytes = torch.cuda.max_memory_allocated() - self.before
        return loss.detach()


def steps(params, batch, config, precision):
    """{side: a function that makes its step}"""

    def maker(compiled):
        def make():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            return Step(params, batch, config, precision, compiled)

        return make

    assert config.gelu_form == "tanh"
    assert math.prod(batch.attention_mask.shape) == batch.attention_mask.sum()
    return {f"PyTorch eager, {precision}": maker(False), f"torch.compile, {precision}": maker(True)}
