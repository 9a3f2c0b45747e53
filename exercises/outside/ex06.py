import torch
from transformers import AlbertConfig
from transformers.models.albert.modeling_albert import AlbertTransformer

from minalbert_course.lessons.ex06.passes import COMPARED, outside_point, ramps

FROM = "AlbertTransformer (the encoder of AlbertModel) and its gradients, transformers 5, torch 2.13, float64, eager"
MODULES = {
    "attention.query": "attention.query", "attention.key": "attention.key", "attention.value": "attention.value",
    "attention.output": "attention.dense", "attention.norm": "attention.LayerNorm",
    "ffn.up": "ffn", "ffn.down": "ffn_output", "ffn.norm": "full_layer_layer_norm",
}  # fmt: skip
H, F = 8, 12


def tensor_of(layer, name):
    module, _, kind = name.rpartition(".")
    return getattr(layer.get_submodule(MODULES[module]), "weight" if kind in ("w", "gain") else "bias")


def turned(name, array):
    """Its matrices are (out, in), ours (in, out)."""
    return array.T if name.endswith(".w") else array


def encoder(sets, layers):
    """One group for each set of weights, and in front of them a projection that changes nothing."""
    config = AlbertConfig(
        vocab_size=10, embedding_size=H, hidden_size=H, intermediate_size=F, num_attention_heads=2,
        num_hidden_layers=layers, num_hidden_groups=len(sets), hidden_act="gelu_new", layer_norm_eps=0.1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    model = AlbertTransformer(config).double()
    groups = [group.albert_layers[0] for group in model.albert_layer_groups]
    with torch.no_grad():
        model.embedding_hidden_mapping_in.weight.copy_(torch.eye(H))
        model.embedding_hidden_mapping_in.bias.zero_()
        for layer, weights in zip(groups, sets, strict=True):
            for name, array in weights.items():
                tensor_of(layer, name).copy_(torch.tensor(turned(name, array)))
    return model, groups


def run(kind, model):
    p = outside_point([])
    x = torch.tensor(p.x, requires_grad=True)
    y = model(x, torch.tensor(p.mask)).last_hidden_state
    y.backward(torch.tensor(p.dy))
    return {f"{kind}.y": y.detach().numpy(), f"{kind}.dx": x.grad.numpy()}


def gradients(prefix, layer, names=COMPARED):
    return {f"{prefix}.{name}": turned(name, tensor_of(layer, name).grad.numpy()) for name in names}


def numbers():
    model, (shared,) = encoder([ramps(H, F)], layers=3)
    found = run("shared", model) | gradients("shared", shared)

    model, groups = encoder([ramps(H, F), ramps(H, F, start=20)], layers=4)
    found |= run("groups", model)
    for number, layer in enumerate(groups):
        found |= gradients(f"groups.{number}", layer)

    model, layers = encoder([ramps(H, F, start=20 * layer) for layer in range(3)], layers=3)
    for layer in layers:
        layer.attention = layers[0].attention        # one attention for all, as the paper's table 4 has it
    found |= run("ffn", model) | gradients("ffn.all", layers[0], [name for name in COMPARED if "attention" in name])
    for number, layer in enumerate(layers):
        found |= gradients(f"ffn.{number}", layer, [name for name in COMPARED if "ffn" in name])
    return found
