import numpy as np
import torch
from transformers import AlbertConfig, AlbertModel

from minalbert_course.lessons.ex07.model_sizes import BASE, KEYS, LARGE

FROM = "num_parameters() of AlbertModel, transformers 5; rows: the six sizes, shared or not, the count"
XLARGE, XXLARGE = (30000, 128, 2048, 512, 8192, 24), (30000, 128, 4096, 512, 16384, 12)
MODELS = ((BASE, 1), (LARGE, 1), (XLARGE, 1), (XXLARGE, 1), (BASE, 0), ((101, 7, 12, 31, 50, 5), 0))


def counted(sizes, shared):
    config = AlbertConfig(**dict(zip(KEYS, sizes, strict=True)), num_attention_heads=4, bos_token_id=0, eos_token_id=0)
    config.num_hidden_groups = 1 if shared else config.num_hidden_layers
    with torch.device("meta"):                       # shapes without numbers
        return AlbertModel(config).num_parameters()


def numbers():
    return {"counts": np.array([(*sizes, shared, counted(sizes, shared)) for sizes, shared in MODELS])}
