"""The peer: `transformers` on PyTorch, with our weights, over our batch.

As released, ALBERT's configuration asks for a GELU that is composed of eight operations, and its pretraining head
scores words at every position. "tuned" gives the peer PyTorch's own tanh GELU in one operation, scores at the masked
positions alone, as we and the released code have them, and its compiled AdamW: the best it can do without a compiler.
Either way its batch is padded to the longest text, and no further.
"""

import tempfile

import numpy as np
import torch
import transformers
from comparison import THREADS

from minalbert.optim import exempt

torch.set_num_threads(int(THREADS))
transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class Peer:
    kind = transformers.AlbertForPreTraining

    def __init__(self, model, batch, tuned=False, bf16=False):
        self.tuned, self.bf16 = tuned, bf16
        self.net = same_model(model, tuned, self.kind)
        self.optimiser = torch.optim.AdamW(groups(self.net), lr=1e-6, eps=1e-6, fused=tuned)
        length = int(batch.attention_mask.sum(axis=1).max())  # its users pad to the longest text
        names = "input_ids", "attention_mask", "token_type_ids"
        self.inputs = {name: torch.tensor(getattr(batch, name)[:, :length]).long() for name in names}
        self.take_labels(batch)

    def take_labels(self, batch):
        self.positions, self.labels = (torch.tensor(x).long() for x in (batch.mlm_positions, batch.mlm_labels))
        self.labels[torch.tensor(batch.mlm_weights) == 0] = -100  # slots that are not used
        self.orders = torch.tensor(batch.sop_labels).long()
        shape = self.inputs["input_ids"].shape
        self.everywhere = torch.full(shape, -100).scatter(1, self.positions, self.labels)

    def step(self):
        """Forward, backward and the optimiser's step; the loss."""
        self.net.train()  # dropout rates are 0
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            loss = self.tuned_loss() if self.tuned else self.loss()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())

    def loss(self):
        return self.net(**self.inputs, labels=self.everywhere, sentence_order_label=self.orders).loss

    def tuned_loss(self):
        entropy = torch.nn.functional.cross_entropy
        out = self.net.albert(**self.inputs)
        where = self.positions[..., None].expand(-1, -1, self.net.config.hidden_size)
        hidden = out.last_hidden_state.gather(1, where)
        words = entropy(self.net.predictions(hidden).flatten(0, 1).float(), self.labels.flatten())
        return words + entropy(self.net.sop_classifier(out.pooler_output).float(), self.orders)

    def encode(self):
        self.net.eval()
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            return self.net.albert(**self.inputs).last_hidden_state

    def features(self):
        """The states of [CLS], computed in eight batches of texts of similar length."""
        lengths = self.inputs["attention_mask"].sum(dim=1)
        found = torch.empty(len(lengths), self.net.config.hidden_size)
        self.net.eval()
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            for rows in lengths.argsort().chunk(8):
                inputs = {name: x[rows, : lengths[rows].max()] for name, x in self.inputs.items()}
                found[rows] = self.net.albert(**inputs).last_hidden_state[:, 0].float()
        return found


class TaskPeer(Peer):
    """The same for the labels of texts. batch: a TaskBatch"""

    kind = transformers.AlbertForSequenceClassification

    def take_labels(self, batch):
        self.labels = torch.tensor(batch.labels).long()

    def loss(self):
        return self.net(**self.inputs, labels=self.labels).loss

    tuned_loss = loss


def same_model(model, tuned, kind):
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        gelu = "gelu_pytorch_tanh" if tuned else "gelu_new"
        config = transformers.AlbertConfig.from_pretrained(directory, hidden_act=gelu)
        net = kind.from_pretrained(directory, config=config, attn_implementation="sdpa", dtype=torch.float32)
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # the SOP head has one of its own
    return net


def groups(net):
    """Weights that decay, and those that do not."""
    tensors = list(net.named_parameters())
    spared = [tensor for name, tensor in tensors if exempt(name, tensor)]
    others = [tensor for name, tensor in tensors if not exempt(name, tensor)]
    return [{"params": others, "weight_decay": 0.01}, {"params": spared, "weight_decay": 0.0}]


def assert_same_loss(name, ours, theirs, tolerance=1e-4):
    if not abs(ours - theirs) <= tolerance * abs(theirs):
        raise SystemExit(f"{name}: the losses differ, ours {ours}, the peer's {theirs}: nothing to compare")


def assert_same_states(name, ours, theirs, tolerance=1e-3):
    worst = np.abs(ours - theirs.float().numpy()).max()
    if not worst <= tolerance:
        raise SystemExit(f"{name}: the last states differ by {worst}: nothing to compare")
