"""How exactly do reversible layers get their inputs back, and how exact must they be?

    python benchmarks/reversible.py [--model DIR ...] [--preset tiny] [--json]      the error against depth
    python benchmarks/reversible.py --train CORPUS [--steps 1500]                   training with errors made larger

Of so many layers, in float32 and float64, fresh or trained: the error of the first layer's two inputs, relative to
their length; the distance between them, which backward compares with its limit; and the error of the whole gradient,
relative to that of a model which keeps everything. With --train, the streams are changed by a random relative amount
before backward begins, so that errors grow on their way as rounding errors do; models of six layers are trained so.
"""

import argparse
import json
import tempfile

import comparison
import numpy as np

from minalbert import PRESETS, Albert, Batch
from minalbert.commands.demo import RECIPE
from minalbert.data.shards import Corpus
from minalbert.model import PLAIN, encoder, pretraining_backward, pretraining_forward, reversible
from minalbert.train import pretrain

DEPTHS = (1, 2, 3, 6, 12, 24, 48)
CHANGES = (0.0, 1e-3, 1e-2, 1e-1)


def keeping(x, ctx, positions):
    """reversible_forward and reversible_backward of an encoder that keeps every cache."""
    x1, x2, caches = x, x, []
    for layer, wanted in enumerate(encoder.positions_of_layers(positions, ctx)):
        x1, x2, cache = reversible.reversible_block_forward(x1, x2, layer, ctx, wanted)
        caches.append(cache)
    return (x1 + x2) / 2, caches


def back_through(dx, caches, ctx, grads):
    dx1 = dx2 = dx / 2
    while caches:
        dx1, dx2 = reversible.reversible_block_backward(dx1, dx2, caches.pop(), ctx, grads)
    return dx1 + dx2


def gradient(config, params, batch):
    ctx, grads = PLAIN.context(PLAIN, config, params, batch.attention_mask), params.zeros_like()
    _, cache = pretraining_forward(batch, ctx)
    pretraining_backward(cache, ctx, grads)
    return grads.flat


def errors(config, params, batch):
    """The errors of the first layer's inputs and of the gradient, and the distance of the streams."""
    ctx = PLAIN.context(PLAIN, config, params, batch.attention_mask)
    x, _ = PLAIN.embeddings.forward(batch.input_ids, batch.token_type_ids, ctx)
    _, (x1, x2, _) = reversible.reversible_forward(x, ctx)
    for layer in reversed(range(config.num_hidden_layers - 1)):
        x1, x2, _ = reversible.reversible_block_inputs(x1, x2, layer, ctx)
    found = gradient(config, params, batch)
    functions = encoder.reversible_forward, encoder.reversible_backward
    encoder.reversible_forward, encoder.reversible_backward = keeping, back_through
    exact = gradient(config, params, batch)
    encoder.reversible_forward, encoder.reversible_backward = functions
    norm = np.linalg.norm
    return {"input": float(norm([norm(x1 - x), norm(x2 - x)]) / norm(x)), "apart": reversible.streams_apart(x1, x2),
            "gradient": float(norm(found - exact) / norm(exact))}  # fmt: skip


def depth_rows(preset, directories):
    models = [(f"{preset}, fresh", Albert.init(PRESETS[preset].replace(num_hidden_layers=layers, reversible=True)))
              for layers in DEPTHS]  # fmt: skip
    models += [(directory, Albert.from_pretrained(directory)) for directory in directories]
    for name, model in models:
        batch = Batch.random(model.config, 8, min(128, model.config.max_position_embeddings), 4)
        for dtype in ("float32", "float64"):
            params = model.params.astype(dtype)
            yield {"model": name, "layers": model.config.num_hidden_layers, "dtype": dtype,
                   **errors(model.config, params, batch)}  # fmt: skip


def changed_by(change, apart):
    """reversible_backward from streams that are changed by so much; adds their distance at the end to a list."""
    rng, plain = np.random.default_rng(0), reversible.reversible_backward

    def moved(x):
        noise = rng.standard_normal(x.shape).astype(x.dtype)
        return x + noise * (change * np.linalg.norm(x) / np.linalg.norm(noise))

    def noting(x1, x2):
        apart.append(measured(x1, x2))
        return 0.0

    def backward(dx, cache, ctx, grads):
        x1, x2, positions = cache
        return plain(dx, (moved(x1), moved(x2), positions), ctx, grads)

    measured, reversible.streams_apart = reversible.streams_apart, noting
    return backward, lambda: setattr(reversible, "streams_apart", measured)


def training_rows(corpus, steps):
    vocab_size = Corpus.open(corpus).vocab_size
    for change in CHANGES:
        for seed in range(2):
            apart = []
            encoder.reversible_backward, undo = changed_by(change, apart)
            settings = RECIPE.change(
                corpus=corpus, vocab_size=vocab_size, num_hidden_layers=6, reversible=True, kernels="plain", seed=seed,
                steps=steps, batch=32, micro_batch=32, minutes=0.0, every=steps, evaluate_every=steps, workers=1,
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as run:
                found = pretrain(settings, run).after
            encoder.reversible_backward = reversible.reversible_backward
            undo()
            yield {"change": change, "seed": seed, "apart": float(np.median(apart)), "mlm_loss": found.mlm_loss}


def line(row):
    return "  ".join(f"{value:<28}" if isinstance(value, str) else f"{value:<9.3g}" for value in row.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.threads])
    parser.add_argument("--preset", default="tiny", choices=PRESETS, metavar="NAME")
    parser.add_argument("--model", nargs="*", default=[], metavar="DIR", help="trained reversible models, too")
    parser.add_argument("--train", metavar="CORPUS", help="train with errors made larger, instead")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--json", action="store_true", help="one object per row")
    options = parser.parse_args()
    rows = training_rows(options.train, options.steps) if options.train else depth_rows(options.preset, options.model)
    for number, row in enumerate(rows):
        if not (options.json or number):
            print("  ".join(f"{name:<{28 if isinstance(value, str) else 9}}" for name, value in row.items()))
        print(json.dumps(row) if options.json else line(row), flush=True)


if __name__ == "__main__":
    main()
