import numpy as np
import torch
from transformers import Qwen2Config, Qwen2Model

FROM = "num_parameters() of Qwen2Model, transformers 5, without its table of words; rows: H, F, N, K, D, L, the count"
MODELS = ((896, 4864, 14, 2, 24), (1536, 8960, 12, 2, 28), (3584, 18944, 28, 4, 28), (60, 50, 6, 3, 5))
V = 101


def counted(H, F, N, K, L):
    config = Qwen2Config(
        vocab_size=V, hidden_size=H, intermediate_size=F, num_attention_heads=N, num_key_value_heads=K,
        num_hidden_layers=L, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    with torch.device("meta"):                       # shapes without numbers
        return Qwen2Model(config).num_parameters() - V * H


def numbers():
    return {"counts": np.array([(H, F, N, K, H // N, L, counted(H, F, N, K, L)) for H, F, N, K, L in MODELS])}
