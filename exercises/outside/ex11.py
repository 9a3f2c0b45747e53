import tempfile

import numpy as np
import torch
import transformers

from minalbert_course.makers.ex11 import plain_batch, small_model

FROM = "transformers 5.23 AlbertForPreTraining trained with torch.optim.AdamW, torch 2.13, float64"
STEPS, WARMUP, PEAK = 6, 2, 0.05


def numbers():
    training = prepared()
    rates = [PEAK * number / WARMUP if number < WARMUP else PEAK * (1 - number / STEPS) for number in range(STEPS)]
    return {"losses": np.array([step(*training, number, rate) for number, rate in enumerate(rates)])}


def prepared():
    """transformers' model with our ramps as weights, and its optimiser."""
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as directory:
        small_model("ramp").save_pretrained(directory)
        model = transformers.AlbertForPreTraining.from_pretrained(directory, dtype=torch.float64).train()
    model.sop_classifier.dropout.p = 0.0
    model.albert.embeddings.word_embeddings.padding_idx = None
    weights = list(model.parameters())
    groups = [
        {"params": [w for w in weights if w.ndim > 1], "weight_decay": 0.01},
        {"params": [w for w in weights if w.ndim == 1], "weight_decay": 0.0},
    ]
    return model, torch.optim.AdamW(groups, eps=1e-6)


def step(model, optimiser, number, rate):
    for group in optimiser.param_groups:
        group["lr"] = rate
    inputs, everywhere, orders = tensors(number % 2)
    optimiser.zero_grad()
    loss = model(**inputs, labels=everywhere, sentence_order_label=orders).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
    optimiser.step()
    return float(loss.detach())


def tensors(number):
    """inputs, the words that are masked, -100 elsewhere, orders"""
    ids, mask, types, positions, labels, used, orders = (torch.tensor(a).long() for a in plain_batch(number))
    rows, slots = used.nonzero(as_tuple=True)
    everywhere = torch.full(ids.shape, -100)
    everywhere[rows, positions[rows, slots]] = labels[rows, slots]
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}, everywhere, orders
