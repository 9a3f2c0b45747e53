"""A run small enough to be killed fifty times in a test: `python tests/small_run.py RUN [setting=value ...]`.

Prints a line when it begins to train, and when it is done a hash of all that it has computed.
"""

import hashlib
import json
import sys
from pathlib import Path

from minalbert.commands.own_code import own_code
from minalbert.commands.progress import Progress
from minalbert.data.shards import Corpus
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.train import checkpoint, pretrain
from minalbert.train.log import read_lines
from minalbert.train.settings import Settings

CLOCK = ("seconds", "tokens_per_second", "data", "forward", "backward", "optimiser")
OWN = (*CLOCK, "run")  # keys that no two runs share
SMALL = {
    "hidden_size": 16, "embedding_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 32,
    "max_length": 24, "max_predictions": 4, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "batch": 16, "micro_batch": 4, "workers": 2, "optimiser": "lamb", "rate": 0.01,
    "steps": 60, "every": 4, "evaluate_every": 10, "evaluate_instances": 32, "log_every": 3,
}  # fmt: skip


def small_corpus(documents=30):
    worlds = TinyWorlds(seed=1)
    tokenizer = WordTokenizer(worlds.words())
    return Corpus.from_documents(worlds.documents(0, documents), tokenizer), tokenizer


def small_settings(**changes):
    return Settings().change(**SMALL | {"held_out_share": 0.2} | changes)


def train(run, **changes):
    settings, quiet = small_settings(**changes), Progress(quiet=True)
    with own_code(settings.training.code) as own:
        return pretrain(settings, run, corpus=small_corpus(), observer=quiet, own_code=own)


def computed(run):
    """A hash of weights, moments and place, and the lines of the log but for what is each run's own and who resumed."""
    _, state, _, _ = checkpoint.load(run)
    vectors = (state.params, *state.moments)
    hashed = hashlib.sha256(b"".join(vector.flat.tobytes() for vector in vectors)).hexdigest()
    lines = [
        {key: value for key, value in line.items() if key not in OWN}
        for line in read_lines(run)
        if line.get("event") != "resumed"
    ]
    return {"hash": hashed, "step": state.step, "position": state.batch_index, "lines": lines}


def events(run, name):
    return [line for line in read_lines(run) if line.get("event") == name]


class StopAt:
    """A stop signal that comes in the middle of a step: each look at it counts."""

    def __init__(self, steps):
        self.steps, self.looks = steps, 0

    @property
    def code(self):
        self.looks += 1
        return 75 if self.looks > self.steps else 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def main():
    run, *changes = sys.argv[1:]
    changes = {name: json.loads(value) for name, _, value in (change.partition("=") for change in changes)}
    print("begun", flush=True)
    outcome = train(Path(run), **changes)
    print(outcome.step, flush=True)
    return outcome.code


if __name__ == "__main__":
    sys.exit(main())
