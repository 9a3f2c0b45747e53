import torch
import transformers

from .ex14 import IDS, model

FROM = "transformers 5.23 AlbertForQuestionAnswering, torch 2.13, float64"


def numbers():
    made, spans = model(transformers.AlbertForQuestionAnswering, 17), torch.tensor([[1, 2], [3, 3], [2, 4], [4, 4]])
    out = made(input_ids=IDS, start_positions=spans[:, 0], end_positions=spans[:, 1], output_hidden_states=True)
    hidden, head = out.hidden_states[-1], made.qa_outputs
    scored = [out.start_logits, out.end_logits]
    dhidden, *dscored = torch.autograd.grad(out.loss, [hidden, *scored], retain_graph=True)
    out.loss.backward()
    found = {
        "hidden": hidden, "w": head.weight.T, "b": head.bias, "spans": spans, "loss": out.loss,
        "scores": torch.stack(scored, dim=-1), "dscores": torch.stack(dscored, dim=-1), "dhidden": dhidden,
        "dw": head.weight.grad.T,                    # the bias's is 0 but for rounding: a softmax has no use for it
    }  # fmt: skip
    return {name: tensor.detach().numpy() for name, tensor in found.items()}
