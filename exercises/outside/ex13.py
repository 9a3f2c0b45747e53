"""Writes the small released model beside its numbers, too: exercises/minalbert_course/outside/ex13."""

from pathlib import Path

import torch
import transformers

import minalbert_course.outside as stored

FROM = "transformers 5.23 AlbertForPreTraining with drawn weights, its states and logits, torch 2.13, float64"
SIZES = {
    "vocab_size": 32, "embedding_size": 6, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3,
    "intermediate_size": 20, "max_position_embeddings": 10, "layer_norm_eps": 1e-3,
}  # fmt: skip


def model():
    torch.manual_seed(13)
    made = transformers.AlbertForPreTraining(transformers.AlbertConfig(**SIZES)).eval()
    with torch.no_grad():
        for name, weight in made.named_parameters():
            is_gain = "norm" in name.lower() and name.endswith("weight")
            weight.copy_(0.4 * torch.randn(weight.shape) + is_gain)
    return made


def numbers():
    transformers.utils.logging.disable_progress_bar()
    made = model()
    directory = Path(stored.__file__).parent / "ex13"
    made.save_pretrained(directory)
    (directory / "model.safetensors").chmod(0o644)
    inputs = {
        "input_ids": torch.tensor([[2, 7, 30, 7, 11, 3], [2, 19, 3, 5, 3, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0]]),
        "token_type_ids": torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0]]),
    }
    with torch.no_grad():
        out = made.double()(**inputs, output_hidden_states=True)
    found = {
        "hidden_states": torch.stack(out.hidden_states),
        "mlm_logits": out.prediction_logits,
        "sop_logits": out.sop_logits,
    }
    return {name: tensor.numpy() for name, tensor in (inputs | found).items()}
