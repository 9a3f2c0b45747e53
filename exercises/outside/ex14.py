import torch
import transformers

FROM = "transformers 5.23 AlbertForSequenceClassification and AlbertForMultipleChoice, torch 2.13, float64"
SIZES = {
    "vocab_size": 20, "embedding_size": 4, "hidden_size": 5, "num_hidden_layers": 2, "num_attention_heads": 1,
    "intermediate_size": 8, "max_position_embeddings": 8,
}  # fmt: skip
STILL = {"classifier_dropout_prob": 0.0, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
IDS = torch.tensor([[2, 7, 11, 3], [2, 19, 3, 5], [2, 9, 4, 3], [2, 6, 6, 3]])


def model(kind, seed, **settings):
    torch.manual_seed(seed)
    made = kind(transformers.AlbertConfig(**SIZES, **STILL, **settings)).double()
    for name, tensor in made.named_parameters():
        is_gain = "norm" in name.lower() and name.endswith("weight")
        torch.nn.init.normal_(tensor, mean=float(is_gain), std=0.4)
    return made


def labelled():
    """A head of three labels: what it is given, and what it returns."""
    made, labels = model(transformers.AlbertForSequenceClassification, 14, num_labels=3), torch.tensor([2, 0, 1, 1])
    out = made(input_ids=IDS, labels=labels, output_hidden_states=True)
    layers = out.hidden_states[1:]
    gradients = torch.autograd.grad(out.loss, layers[-1], retain_graph=True)
    out.loss.backward()
    pooler, classifier = made.albert.pooler, made.classifier
    return {
        "layers": torch.stack(layers), "labels": labels, "scores": out.logits, "loss": out.loss,
        "pooler_w": pooler.weight.T, "pooler_b": pooler.bias, "w": classifier.weight.T, "b": classifier.bias,
        "dlayers": torch.stack([torch.zeros_like(layers[0]), *gradients]),
        "dpooler_w": pooler.weight.grad.T, "dpooler_b": pooler.bias.grad,
        "dw": classifier.weight.grad.T, "db": classifier.bias.grad,
    }  # fmt: skip


def loss_of(out, kind, **labels):
    (dscores,) = torch.autograd.grad(out.loss, out.logits)
    found = {"scores": out.logits.reshape(-1, 1), "loss": out.loss, "dscores": dscores.reshape(-1, 1)} | labels
    return {f"{kind}.{name}": value for name, value in found.items()}


def numbers():
    found = labelled()
    targets = torch.tensor([4.5, 0.0, 2.25, 3.0]).double()
    made = model(transformers.AlbertForSequenceClassification, 15, num_labels=1)
    found |= loss_of(made(input_ids=IDS, labels=targets), "number", targets=targets)
    labels, ids = torch.tensor([1, 0]), IDS.reshape(2, 2, 4)
    out = model(transformers.AlbertForMultipleChoice, 16)(input_ids=ids, labels=labels)
    found |= loss_of(out, "choice", labels=labels)
    return {name: tensor.detach().numpy() for name, tensor in found.items()}
