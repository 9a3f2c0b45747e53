"""How long does a training step take, and how long does PyTorch take for the same one?

    python benchmarks/step.py [--case NAME ...] [--runs 9] [--threads 2] [--json]

Forward and backward of ALBERT-base, float32, MLM and SOP losses, the same weights and batch on both sides,
which must give the same loss before anything is timed. Ours and the peer's runs take turns, so that a busy
machine slows both; the ratio is the median over pairs. The floor is the step's matrix products at the rate
of one large product, measured in the same run: no program that multiplies these matrices can be faster.

`transformers` computes word scores at every position, where we and the released code do so at the masked
ones alone. The case "gathered" gives the peer that advantage too, and "native" PyTorch's own tanh GELU in
place of the composed one that released configs ask for.
"""

import argparse
import json
import os
import statistics
import sys
import time

early = argparse.ArgumentParser(add_help=False)  # libraries read the number of threads when they are imported
early.add_argument("--threads", default="2", help="for both sides (default: 2)")
THREADS = early.parse_known_args()[0].threads
os.environ |= {"OMP_NUM_THREADS": THREADS, "OPENBLAS_NUM_THREADS": THREADS, "MKL_NUM_THREADS": THREADS}

import numpy as np  # noqa: E402
from tqdm import tqdm  # noqa: E402

from minalbert import PRESETS, Albert, Batch  # noqa: E402
from minalbert.analysis.cost import training_operations  # noqa: E402

CASES = {
    # name: (sequences, tokens, predictions, the peer's GELU, does the peer score masked positions alone)
    "8x128, transformers as released": (8, 128, 20, "gelu_new", False),
    "8x128, native GELU": (8, 128, 20, "gelu_pytorch_tanh", False),
    "8x128, native GELU, gathered": (8, 128, 20, "gelu_pytorch_tanh", True),
    "2x512, transformers as released": (2, 512, 77, "gelu_new", False),
    "2x512, native GELU, gathered": (2, 512, 77, "gelu_pytorch_tanh", True),
}


def full_batch(config, size, length, predictions):
    """Without padding: every position is work for both."""
    batch = Batch.random(config, size, length, predictions)
    rng = np.random.default_rng(1)
    return batch._replace(
        input_ids=rng.integers(5, config.vocab_size, (size, length)),
        attention_mask=np.ones((size, length), np.int64),
        mlm_positions=np.sort(rng.random((size, length)).argsort(axis=1)[:, :predictions]),
        mlm_labels=rng.integers(5, config.vocab_size, (size, predictions)),
        mlm_weights=np.ones((size, predictions), np.float32),
    )


def peer_step(model, batch, gelu, gathered):
    """The same step in PyTorch, and its loss."""
    import tempfile

    import torch
    import transformers

    torch.set_num_threads(int(THREADS))
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        config = transformers.AlbertConfig.from_pretrained(directory, hidden_act=gelu)
        peer = transformers.AlbertForPreTraining.from_pretrained(
            directory, config=config, attn_implementation="sdpa", dtype=torch.float32
        )
    peer.train()  # dropout rates are 0
    for module in peer.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0  # the SOP head has one of its own

    ids, mask, types, positions, labels = (torch.tensor(x) for x in batch[:5])
    orders = torch.tensor(batch.sop_labels)
    everywhere = torch.full(ids.shape, -100).scatter(1, positions, labels)

    def step():
        peer.zero_grad(set_to_none=True)
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        if gathered:
            out = peer.albert(**inputs)
            hidden = out.last_hidden_state.gather(1, positions[..., None].expand(-1, -1, peer.config.hidden_size))
            words = torch.nn.functional.cross_entropy(peer.predictions(hidden).flatten(0, 1), labels.flatten())
            loss = words + torch.nn.functional.cross_entropy(peer.sop_classifier(out.pooler_output), orders)
        else:
            loss = peer(**inputs, labels=everywhere, sentence_order_label=orders).loss
        loss.backward()
        return float(loss.detach())

    return step


def product_rate():
    """Operations per second of a large matrix product, the best of several."""
    a, b = np.ones((2, 2048, 2048), np.float32)
    return 2 * 2048**3 / min(seconds(lambda: a @ b) for _ in range(8))


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(name, runs):
    size, length, predictions, gelu, gathered = CASES[name]
    config = PRESETS["albert-base-v2"]
    model = Albert.init(config)
    batch = full_batch(config, size, length, predictions)
    theirs = peer_step(model, batch, gelu, gathered)

    def ours():
        return float(model.loss_and_grads(batch)[0].total)

    ours_loss, peer_loss = ours(), theirs()
    if abs(ours_loss - peer_loss) > 1e-4 * peer_loss:
        sys.exit(f"{name}: the losses differ, ours {ours_loss}, the peer's {peer_loss}: nothing to compare")

    pairs, rates = [], []
    for run in tqdm(range(runs), desc=name, leave=False, disable=not sys.stderr.isatty()):
        calls = [ours, theirs] if run % 2 else [theirs, ours]
        taken = {call: seconds(call) for call in calls}
        pairs.append((taken[ours], taken[theirs]))
        rates.append(product_rate())
    ratios = sorted(a / b for a, b in pairs)
    return {
        "case": name,
        "ours": statistics.median(a for a, _ in pairs),
        "peer": statistics.median(b for _, b in pairs),
        "floor": size * training_operations(config, length, predictions) / statistics.median(rates),
        "ratio": statistics.median(ratios),
        "spread": [ratios[0], ratios[-1]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[early])
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=CASES, metavar="NAME", help=" | ".join(CASES))
    parser.add_argument("--runs", type=int, default=9, help="pairs of runs per case (default: 9)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    if not options.json:
        print(f"{'case':34} {'ours':>8} {'peer':>8} {'floor':>8} {'ours/peer':>10} {'ours/floor':>11}   spread")
    for name in options.case:
        row = measure(name, options.runs)
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        print(
            f"{name:34} {row['ours']:7.3f}s {row['peer']:7.3f}s {row['floor']:7.3f}s {row['ratio']:10.2f} "
            f"{row['ours'] / row['floor']:11.2f}   {row['spread'][0]:.2f} to {row['spread'][1]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
