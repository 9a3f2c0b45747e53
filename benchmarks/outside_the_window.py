"""What does a model with sparse attention lose, if the answer lies outside the window, and what wins it back?

    python benchmarks/outside_the_window.py [--model NAME ...] [--steps 1500] [--seed 0] [--threads 1] [--json]

A task of tiny worlds: "olga gave the kettle to edda .", then the weather and passers-by, and among them, four times,
"[MASK] kept the kettle .". The masked word is the name, one of eight, 4 to 60 tokens back. Small models (H 64,
sequences of 64 tokens) are trained on nothing but this, and tested on new stories, by the distance of the answer.
"reach" is measured: so far back is the farthest token whose embedding has a gradient from the last token's hidden
state.
"""

import argparse
import json
import random
import sys

from threads import limit

threads = argparse.ArgumentParser(add_help=False)  # libraries read the number of threads when they are imported
threads.add_argument("--threads", default="1")
limit(threads.parse_known_args()[0].threads)

import numpy as np  # noqa: E402
from tqdm import trange  # noqa: E402

from minalbert import Albert, AlbertConfig, Batch  # noqa: E402
from minalbert.data import TinyWorlds  # noqa: E402
from minalbert.data.tiny_worlds.lexicon import MEN, WOMEN  # noqa: E402
from minalbert.optim import AdamW, Moments, Schedule, clip_factor, global_norm  # noqa: E402

T, B, QUESTIONS, NEAR, FAR, BINS = 64, 64, 4, 4, 58, ((4, 8), (9, 16), (17, 24), (25, 32), (33, 40), (41, 60))
CLS, MASK, OTHERS = 2, 4, 5
WORDS = TinyWorlds().words()
ID = {word: number for number, word in enumerate(WORDS, OTHERS)}
PEOPLE = {ID[name.lower()] for name in (*WOMEN, *MEN)}
KEEPERS = sorted(PEOPLE)[:4] + sorted(PEOPLE)[-4:]
LOCAL = {"attention": "local", "attention_window": 16, "attention_global": 0}
MODELS = {
    "full, 4 layers": {},
    "local, 2 layers": {**LOCAL, "num_hidden_layers": 2},
    "local, 4 layers": LOCAL,
    "local, 4 layers, nothing shared": {**LOCAL, "sharing": "none"},
    "local, 4 layers, [CLS] global": {**LOCAL, "attention_global": 1},
    "strided (8), 4 layers": {**LOCAL, "attention": "strided", "attention_stride": 8},
}


def config_of(name):
    return AlbertConfig(
        vocab_size=OTHERS + len(WORDS), embedding_size=64, hidden_size=64, num_attention_heads=4, intermediate_size=256,
        initializer_range=0.125, max_position_embeddings=T, **{"num_hidden_layers": 4} | MODELS[name],
    )  # fmt: skip


class Stories:
    """Sentences of tiny worlds as ids: some that name nobody, and handovers, two sentences each."""

    def __init__(self, first, count):
        world = TinyWorlds(p_handover=1.0, hops=1, entity_cues=False, p_fill=0.5, p_branch=0.0, p_long=0.0)
        self.others, self.handovers = [], []
        for number, document in enumerate(world.documents(first, first + count), first):
            story = world.story(number)
            sentences = [[ID[word] for word in sentence.split()] for sentence in document.sentences]
            for i, (step, holder) in enumerate(zip(story.steps, story.holders, strict=True)):
                if holder and not story.holders[i - 1]:
                    self.handovers.append(sentences[i : i + 2])
                elif step is None and not holder and not PEOPLE & set(sentences[i]):
                    self.others.append(sentences[i])

    def example(self, rng):
        """A story with a handover, in which the question comes several times: ids, places, name, distances."""
        given, question = rng.choice(self.handovers)
        name = rng.choice(KEEPERS)
        given = [name if word == question[0] else word for word in given]
        ids = [CLS, *(rng.choice(self.others) if rng.random() < 0.5 else ()), *given]
        start, places = len(ids) - 2, []  # of the name, before the full stop
        asked = sorted(rng.sample(range(NEAR, FAR, len(question)), QUESTIONS))
        while asked and len(ids) < T:
            if len(ids) < start + asked[0]:
                ids += rng.choice(self.others)[: start + asked[0] - len(ids)]
            else:
                places.append(len(ids))
                ids += [MASK, *question[1:]]
                asked.pop(0)
        places = [place for place in places if place < T]
        return ids[:T], places, name, [place - start for place in places]

    def batch(self, rng, size):
        """A Batch, and the distances of its answers (size, QUESTIONS)"""
        ids, places, names, distances = zip(*(self.example(rng) for _ in range(size)), strict=True)
        positions, labels, far = np.zeros((3, size, QUESTIONS), int)
        for row in range(size):
            used = slice(len(places[row]))
            positions[row, used], labels[row, used], far[row, used] = places[row], names[row], distances[row]
        batch = Batch(*Batch.pad(ids), positions, labels, (far > 0).astype(np.float32), np.zeros(size, int))
        return batch, far


def train(config, stories, steps, seed, name):
    model, rng = Albert.init(config, seed, heads=("mlm",)), random.Random(seed)
    optimiser, moments, grads = AdamW(), Moments.zeros(model.params), model.params.zeros_like()
    schedule = Schedule(2e-3, steps, steps // 20)
    for step in trange(steps, desc=name, leave=False, disable=not sys.stderr.isatty()):
        grads.flat.fill(0)
        model.loss_and_grads(stories.batch(rng, B)[0], into=grads)
        scale = clip_factor(global_norm(grads), 1.0)
        optimiser.step(model.params, grads, moments, schedule.rate(step), step + 1, scale)
    return model


def accuracies(model, stories, seed, count=2000):
    """The share of right names by distance."""
    rng, right, far = random.Random(seed + 1), [], []
    for _ in range(count // 100):
        batch, distances = stories.batch(rng, 100)
        hidden, _ = model.encode(*batch[:3])
        guesses = model.mlm_logits(hidden, batch.mlm_positions).argmax(axis=-1)
        right.append((guesses == batch.mlm_labels).ravel())
        far.append(distances.ravel())
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
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one object per model")
    options = parser.parse_args()
    training, held_out = Stories(0, 3000), Stories(100_000, 1000)
    if not options.json:
        print(f"{'right names, the answer so far back:':36}{'reach':>6}" + "".join(f"{f'{a}-{b}':>8}" for a, b in BINS))
    for name in options.model:
        config = config_of(name)
        model = train(config, training, options.steps, options.seed, name)
        right = accuracies(model, held_out, options.seed)
        row = {"case": name, "reach": reach(config), "distances": BINS, "right": right, "steps": options.steps,
               "seed": options.seed}  # fmt: skip
        shown = f"{name:36}{row['reach']:6}" + "".join(f"{100 * share:7.0f}%" for share in row["right"])
        print(json.dumps(row) if options.json else shown, flush=True)


if __name__ == "__main__":
    main()
