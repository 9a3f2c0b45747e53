"""A fine-tuning small enough to be killed in a test: `python tests/small_task.py RUN PLACE [setting=value ...]`.

PLACE holds the task's files and the model to begin with, which `small_place` writes. Prints as `small_run` does.
"""

import json
import sys
from pathlib import Path

from minalbert import Albert, AlbertConfig
from minalbert.commands.on_ranks import on_ranks
from minalbert.commands.progress import Progress
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.tiny_worlds.tasks import write_tasks
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.parallel import ALONE
from minalbert.tasks.finetuning import finetune
from minalbert.tasks.settings import TaskSettings

SIZES = {"embedding_size": 8, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 32, "max_position_embeddings": 64}  # fmt: skip
SMALL = {"task": "custom", "batch": 8, "micro_batch": 2, "steps": 12, "evaluate_every": 5, "every": 4, "log_every": 3,
         "rate": 0.003, "warmup": 3, "dropout": 0.1, "classifier_dropout": 0.2, "dev_examples": 24,
         "workers": 2}  # fmt: skip
FORMATS = {"next": "race", "spans1": "squad2"}  # of tiny worlds; the others are custom


def small_place(place):
    tokenizer = WordTokenizer(TinyWorlds().words())
    write_tasks(place, train=60, dev=40)
    config = AlbertConfig(**SIZES, vocab_size=tokenizer.vocab_size)
    Albert.init(config, seed=1).save_pretrained(place / "model")
    tokenizer.save(place / "model" / tokenizer.file_name)
    return place


def small_settings(place, files="before", **changes):
    of_place = {"data": str(place / files), "weights": str(place / "model"), "task": FORMATS.get(files, "custom")}
    return TaskSettings().change(**SMALL | of_place | changes)


def train(run, place, files="before", ranks=ALONE, **changes):
    return finetune(small_settings(place, files, **changes), run, observer=Progress(quiet=True), ranks=ranks)


def main():
    run, place, *changes = sys.argv[1:]
    changes = {name: json.loads(value) for name, _, value in (change.partition("=") for change in changes)}

    def work(ranks):
        outcome = train(Path(run), Path(place), ranks=ranks, **changes)
        print(outcome.step, flush=True)
        return outcome.code

    print("begun", flush=True)
    return on_ranks(work)


if __name__ == "__main__":
    sys.exit(main())
