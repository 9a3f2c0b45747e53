"""Writes the model in shards beside its numbers, too: exercises/minalbert_course/outside/ex13/shards."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

import minalbert_course.outside as stored
from minalbert_course.lessons.ex13.torch_names import OLDER

from .ex13 import SIZES

FROM = "torch.nn.TransformerEncoderLayer with drawn weights, three times; states and logits, torch 2.13, float64"
LAYER = torch.nn.TransformerEncoderLayer


class Model(torch.nn.Module):
    def __init__(self, V, E, H, N, F, T, eps):
        super().__init__()
        self.word, self.position, self.segment = (torch.nn.Embedding(size, E) for size in (V, T, 2))
        self.embedding_norm, self.projection = torch.nn.LayerNorm(E, eps), torch.nn.Linear(E, H)
        self.layer = LAYER(H, N, F, 0.0, lambda x: torch.nn.functional.gelu(x, approximate="tanh"), eps, True)
        self.pooler, self.sop = torch.nn.Linear(H, H), torch.nn.Linear(H, 2)
        self.mlm_dense, self.mlm_norm = torch.nn.Linear(H, E), torch.nn.LayerNorm(E, eps)
        self.mlm_bias = torch.nn.Parameter(torch.zeros(V))

    def forward(self, ids, mask, segments, layers):
        x = self.word(ids) + self.position(torch.arange(ids.shape[1])) + self.segment(segments)
        states = [self.projection(self.embedding_norm(x))]
        for _ in range(layers):
            states.append(self.layer(states[-1], src_key_padding_mask=mask == 0))
        dense = torch.nn.functional.gelu(self.mlm_dense(states[-1]), approximate="tanh")
        logits = self.mlm_norm(dense) @ self.word.weight.T + self.mlm_bias
        return torch.stack(states), logits, self.sop(torch.tanh(self.pooler(states[-1][:, 0])))


def model():
    torch.manual_seed(31)
    sizes = [SIZES[name] for name in ("vocab_size", "embedding_size", "hidden_size", "num_attention_heads",
                                      "intermediate_size", "max_position_embeddings", "layer_norm_eps")]  # fmt: skip
    made = Model(*sizes)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            weight.copy_(0.4 * torch.randn(weight.shape) + ("norm" in name and name.endswith("weight")))
    return made


def write(state, folder):
    """Two shards and their index; each has an older array, too, which the index does not mean."""
    folder.mkdir(exist_ok=True)
    names = sorted(state)
    halves = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    places = {name: file for file, half in halves.items() for name in half}
    for file, half in halves.items():
        old = {name: -state[name] for name in OLDER if places[name] != file}
        save_file({name: state[name].contiguous() for name in half} | old, folder / file)
        (folder / file).chmod(0o644)
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    config = SIZES | {"hidden_act": "gelu_new", "inner_group_num": 1, "architectures": ["Model"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def numbers():
    made = model()
    write(made.state_dict(), Path(stored.__file__).parent / "ex13" / "shards")
    inputs = {
        "input_ids": torch.tensor([[2, 9, 30, 8, 11, 3], [2, 17, 3, 6, 3, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]]),
        "token_type_ids": torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0]]),
    }
    states, mlm_logits, sop_logits = made.double()(*inputs.values(), SIZES["num_hidden_layers"])
    found = {"hidden_states": states, "mlm_logits": mlm_logits, "sop_logits": sop_logits}
    return {name: tensor.detach().numpy() for name, tensor in (inputs | found).items()}
