"""Make the golden files: what `transformers` and torch compute for three tiny models, in float64.

    python tests/golden/make.py [directory]

Nothing of minalbert is used. Each file holds a configuration, weights and a batch; the hidden states, both
logits and losses; a gradient for every weight; and the losses along ten steps of plain gradient descent.
The gradients include the lookup of the padding row, as in Google's code: `padding_idx` is taken off.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

LEARNING_RATE, STEPS = 0.02, 10
TINY = {
    "vocab_size": 37,
    "embedding_size": 8,
    "hidden_size": 12,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "max_position_embeddings": 9,
    "num_hidden_groups": 1,
    "hidden_act": "gelu_new",
    "layer_norm_eps": 1e-12,
}
CASES = {
    "gelu_tanh": TINY,
    "gelu_erf": TINY | {"hidden_act": "gelu"},
    "two_groups": TINY | {"num_hidden_groups": 2, "layer_norm_eps": 0.01},
}

# Three sequences of 7, 5 and 1 tokens, both segments, 0 once as a token and else as padding.
BATCH = {
    "input_ids": [[2, 17, 4, 31, 3, 36, 3], [2, 8, 8, 0, 3, 0, 0], [4, 0, 0, 0, 0, 0, 0]],
    "attention_mask": [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0, 0]],
    "token_type_ids": [[0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0]],
    "mlm_positions": [[2, 5, 0], [1, 3, 4], [0, 0, 0]],
    "mlm_labels": [[25, 36, 0], [11, 0, 7], [33, 0, 0]],
    "mlm_weights": [[1, 1, 0], [1, 1, 1], [1, 0, 0]],
    "sop_labels": [0, 1, 1],
}


def build(config, seed):
    """A model with weights that show mistakes: activations near one, gains and biases far from their start."""
    model = transformers.AlbertForPreTraining(transformers.AlbertConfig(**config, attn_implementation="eager"))
    model.albert.embeddings.word_embeddings.padding_idx = None
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            values = rng.standard_normal(weight.shape)
            if weight.ndim == 2 and "embeddings." not in name:
                values *= 1.5 / np.sqrt(weight.shape[1])
            elif name.endswith("weight") and weight.ndim == 1:
                values += 1.0
            weight.copy_(torch.tensor(values, dtype=torch.float16))  # the file keeps so many digits
    return model.double().eval()


def losses(model, batch):
    labels = torch.full_like(batch["input_ids"], -100)
    rows, slots = batch["mlm_weights"].nonzero(as_tuple=True)
    labels[rows, batch["mlm_positions"][rows, slots]] = batch["mlm_labels"][rows, slots]
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    out = model(**inputs, labels=labels, sentence_order_label=batch["sop_labels"], output_hidden_states=True)
    mlm = torch.nn.functional.cross_entropy(out.prediction_logits.flatten(0, 1), labels.flatten())
    return out, mlm, out.loss - mlm


def compute(config, seed):
    """name -> array: all that one file holds."""
    model, batch = build(config, seed), {name: torch.tensor(values) for name, values in BATCH.items()}
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    out, mlm, sop = losses(model, batch)
    out.loss.backward()
    file = {"config": json.dumps(config), "learning_rate": LEARNING_RATE}
    file |= {f"batch/{name}": np.array(values) for name, values in BATCH.items()}
    file |= {f"weight/{name}": weight.numpy().astype(np.float16) for name, weight in weights.items()}
    file |= {f"gradient/{name}": weight.grad.numpy() for name, weight in model.named_parameters()}
    with torch.no_grad():
        pooled = model.albert.pooler_activation(model.albert.pooler(out.hidden_states[-1][:, 0]))
    values = {
        "hidden_states": torch.stack(out.hidden_states),
        "pooled": pooled,
        "mlm_logits": out.prediction_logits,
        "sop_logits": out.sop_logits,
        "mlm_loss": mlm,
        "sop_loss": sop,
    }
    file |= {name: value.detach().numpy() for name, value in values.items()}
    return file | {"descent": np.array(descend(model, batch))}


def descend(model, batch):
    """The total loss before each of the steps, and after the last."""
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    course = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = losses(model, batch)[0].loss
        loss.backward()
        optimizer.step()
        course.append(loss.item())
    return [*course, losses(model, batch)[0].loss.item()]


def main(directory=Path(__file__).parent):
    torch.set_num_threads(1)
    for seed, (name, config) in enumerate(CASES.items()):
        np.savez_compressed(Path(directory) / f"{name}.npz", **compute(config, seed))


if __name__ == "__main__":
    main(*sys.argv[1:])
