"""All counts of a model in one dict, which `minalbert params` prints."""

import dataclasses

from ..arguments import of_kind, text, whole
from ..config import PRESETS, AlbertConfig
from . import cost, memory, memory_for_time, parameters
from .formulas import sizes

# The paper's parameters in millions: tables 1 and 2, then tables 3 and 4.
PAPER = {
    "albert-base": 12, "albert-large": 18, "albert-xlarge": 60, "albert-xxlarge": 235,
    "bert-base": 108, "bert-large": 334,
    "E=64 sharing=none": 87, "E=128 sharing=none": 89, "E=256 sharing=none": 93, "E=768 sharing=none": 108,
    "E=64 sharing=all": 10, "E=128 sharing=all": 12, "E=256 sharing=all": 16, "E=768 sharing=all": 31,
    "E=768 sharing=attention": 83, "E=768 sharing=ffn": 57,
    "E=128 sharing=attention": 64, "E=128 sharing=ffn": 38,
}  # fmt: skip
COMPARED = ("vocab_size", "embedding_size", "hidden_size", "num_hidden_layers", "sharing")


def one_model(preset, config, length, batch):
    """The counts of one model. Memory is for float32 and the configuration's dropout; P is 15 % of the length."""
    text("preset", preset)
    of_kind("config", config, AlbertConfig)
    length, batch = whole("length", length, 1, config.max_position_embeddings), whole("batch", batch, 1)
    return {
        "preset": preset,
        "config": dataclasses.asdict(config),
        "length": length,
        "batch": batch,
        "sizes": sizes(config, batch, length),
        "paper_millions": in_paper(preset) if config == PRESETS[preset] else None,
        "parts": [
            {"name": part.name, "formula": part.formula, "sets": part.sets(config), "parameters": part.numbers(config)}
            for part in (*parameters.TRUNK, parameters.POOLER, parameters.MLM, parameters.SOP)
            if part.numbers(config)
        ],
        "totals": parameters.totals(config),
        "word_embedding": parameters.word_embedding(config),
        "products": [
            {
                "name": product.name,
                "formula": product.formula,
                "operations_per_token": cost.operations(product, config, length) / length,
            }
            for product in cost.products(config)
        ],
        "layer_keeps": [
            {"name": held.name, "formula": held.formula, "bytes": memory.held_bytes([held], config, batch, length)}
            for held in memory.BLOCK
        ],
        "memory_for_time": memory_for_time.table(config, batch, length),
        "this_model": what_it_takes(config, length, batch),
        "all_shared": what_it_takes(parameters.shared(config), length, batch),
        "none_shared": what_it_takes(parameters.unshared(config), length, batch),
    }


def what_it_takes(config, length, batch):
    return {
        "parameters": parameters.totals(config)["everything"],
        "layer_parameters": parameters.layer_weights(config),
        "optimiser_bytes": sum(cost.optimiser_bytes(config).values()),
        "all_reduced_bytes": cost.all_reduced_bytes(config),
        "forward_operations_per_token": cost.forward_operations(config, length) / length,
        "training_operations_per_token": cost.training_operations(config, length) / length,
        "training_operations_per_token_recomputing": cost.training_operations(config, length, recompute=True) / length,
        "activation_bytes": memory.activation_bytes(config, batch, length),
        "activation_bytes_recomputing": memory.activation_bytes(config, batch, length, recompute=True),
    }


def every_model():
    """Parameters of all presets and of the paper's ablations."""
    models = {**PRESETS, **parameters.variants()}
    return {
        name: {
            **{field: getattr(config, field) for field in COMPARED},
            **parameters.totals(config),
            "paper_millions": in_paper(name),
        }
        for name, config in models.items()
    }


def in_paper(name):
    """The paper's count in millions, or None."""
    return PAPER.get(name.removesuffix("-v1").removesuffix("-v2"))
