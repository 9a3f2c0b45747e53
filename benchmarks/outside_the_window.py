"""What does a model with sparse attention lose, if the answer lies outside the window, and what wins it back?

    python benchmarks/outside_the_window.py [--model NAME ...] [--steps 3000] [--seed 0] [--threads 1] [--json]

A task of tiny worlds: "olga gave the kettle to edda .", then sentences about others, and at the end "[MASK] kept the
kettle .". The masked word is a name, 8 to 112 tokens back. Small models (H 64, sequences of 128 tokens) are trained on
nothing but this, and tested on new stories, by the distance of the answer. Before that the reach of each model is
measured: how far back is the farthest token whose embedding has a gradient from the last token's hidden state?
"""

import argparse
import json
import os
import random
import sys

threads = argparse.ArgumentParser(add_help=False)  # libraries read the number of threads when they are imported
threads.add_argument("--threads", default="1")
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = threads.parse_known_args()[0].threads

import numpy as np  # noqa: E402
from tqdm import trange  # noqa: E402

from minalbert import Albert, AlbertConfig, Batch  # noqa: E402
from minalbert.data import TinyWorlds  # noqa: E402
from minalbert.optim import AdamW, Moments, Schedule, clip_factor, global_norm  # noqa: E402

T, B, NEAR, FAR, BINS = 128, 32, 8, 112, ((8, 16), (17, 32), (33, 48), (49, 64), (65, 80), (81, 112))
CLS, MASK, OTHERS = 2, 4, 5
WORDS = TinyWorlds().words()
ID = {word: number for number, word in enumerate(WORDS, OTHERS)}
LOCAL = {"attention": "local", "attention_window": 32, "attention_global": 0}
MODELS = {
    "full, 4 layers": {},
    "local, 2 layers": {**LOCAL, "num_hidden_layers": 2},
    "local, 4 layers": LOCAL,
    "local, 4 layers, nothing shared": {**LOCAL, "sharing": "none"},
    "local, 4 layers, [CLS] global": {**LOCAL, "attention_global": 1},
    "strided (16), 4 layers": {**LOCAL, "attention": "strided", "attention_stride": 16},
}


def config_of(name):
    return AlbertConfig(
        vocab_size=OTHERS + len(WORDS), embedding_size=64, hidden_size=64, num_attention_heads=4, initializer_range=0.125,
        intermediate_size=256, max_position_embeddings=T, **{"num_hidden_layers": 4} | MODELS[name],
    )  # fmt: skip


class Stories:
    """Sentences of tiny worlds as ids: about others, and (giver, taker, item) of handovers with their words."""

    def __init__(self, first, count):
        quiet, giving = TinyWorlds(p_handover=0.0), TinyWorlds(p_handover=1.0, hops=1, entity_cues=False)
        self.others = [[ID[word] for word in sentence.split()]
                       for document in quiet.documents(first, first + count) for sentence in document.sentences]  # fmt: skip
        self.handovers = []                          # two sentences each
        for number, document in enumerate(giving.documents(first, first + count), first):
            holders = giving.story(number).holders
            if any(holders):
                where = next(i for i, holder in enumerate(holders) if holder)
                self.handovers.append([[ID[word] for word in sentence.split()]
                                       for sentence in document.sentences[where : where + 2]])  # fmt: skip

    def example(self, rng):
        """(ids, place of the mask, the masked name, distance): the end of the story is the question."""
        given, kept = rng.choice(self.handovers)
        distance = rng.randint(NEAR, FAR)
        between = []
        while len(between) < distance - 2:           # the full stop after the name, and the sentences
            between += rng.choice(self.others)
        between = between[: distance - 2]
        before = rng.choice(self.others) if rng.random() < 0.5 else []
        ids = [CLS, *before, *given, *between, kept[0], *kept[1:]]
        ids = [CLS, *ids[-(T - 1) :]] if len(ids) > T else ids
        place = len(ids) - len(kept)
        name, ids[place] = ids[place], MASK
        return ids, place, name, distance

    def batch(self, rng, size):
        ids, places, names, distances = zip(*(self.example(rng) for _ in range(size)), strict=True)
        inputs = Batch.pad(ids)
        slots = np.array(places)[:, None], np.array(names)[:, None], np.ones((size, 1), np.float32)
        return Batch(*inputs, *slots, np.zeros(size, int)), np.array(distances)


def train(config, stories, steps, seed, name):
    model, rng = Albert.init(config, seed, heads=("mlm",)), random.Random(seed)
    optimiser, moments, grads = AdamW(), Moments.zeros(model.params), model.params.zeros_like()
    schedule = Schedule(2e-3, steps, steps // 20)
    for step in trange(steps, desc=name, leave=False, disable=not sys.stderr.isatty()):
        grads.flat.fill(0)
        losses, _ = model.loss_and_grads(stories.batch(rng, B)[0], into=grads)
        scale = clip_factor(global_norm(grads), 1.0)
        optimiser.step(model.params, grads, moments, schedule.rate(step), step + 1, scale)
        if os.environ.get("TRACE") and step % 200 == 199: print(name, step + 1, losses.mlm, flush=True)
    return model


def accuracies(model, stories, seed, count=2000):
    """The share of right names by distance."""
    rng, right, far = random.Random(seed + 1), [], []
    for _ in range(count // 100):
        batch, distances = stories.batch(rng, 100)
        hidden, _ = model.encode(*batch[:3])
        guesses = model.mlm_logits(hidden, batch.mlm_positions)[:, 0].argmax(axis=-1)
        right.append(guesses == batch.mlm_labels[:, 0])
        far.append(distances)
    right, far = np.concatenate(right), np.concatenate(far)
    return [float(right[(far >= low) & (far <= high)].mean()) for low, high in BINS]


def reach(config):
    """Tokens back from the last one to the farthest whose embedding has a gradient from its hidden state."""
    model = Albert.init(config, heads=(), dtype="float64")
    encoding = model.forward(np.full((1, T), OTHERS))
    dhidden = np.zeros_like(encoding.hidden)
    dhidden[0, -1] = np.random.default_rng(0).standard_normal(config.hidden_size)
    rows = encoding.backward(dhidden)["embeddings.position"]
    return T - 1 - int(np.flatnonzero(np.abs(rows).max(axis=1))[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[threads])
    parser.add_argument("--model", nargs="*", default=list(MODELS), choices=MODELS, metavar="NAME")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one object per model")
    options = parser.parse_args()
    training, held_out = Stories(0, 3000), Stories(100_000, 1000)
    if not options.json:
        print(f"{'right names, the answer so far back:':36}{'reach':>6}" + "".join(f"{f'{a}-{b}':>8}" for a, b in BINS))
    for name in options.model:
        config = config_of(name)
        model = train(config, training, options.steps, options.seed, name)
        row = {"case": name, "reach": reach(config), "distances": BINS,
               "right": accuracies(model, held_out, options.seed), "steps": options.steps, "seed": options.seed}  # fmt: skip
        shown = f"{name:36}{row['reach']:6}" + "".join(f"{100 * share:7.0f}%" for share in row["right"])
        print(json.dumps(row) if options.json else shown, flush=True)


if __name__ == "__main__":
    main()
