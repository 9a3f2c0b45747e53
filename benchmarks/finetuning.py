"""What is pretraining worth on tasks of tiny worlds, with few labels and with many?

    minalbert data tasks PLACE/tasks --train 5000 --dev 1000
    minalbert pretrain PLACE/pre/sop-0 ...           # an arm and a seed; the settings are in results/*-finetuning.toml
    python benchmarks/finetuning.py PLACE RESULTS.jsonl [--task NAME ...] [--labels N ...] [--arm NAME ...]

Each arm sees the same examples of a seed, takes the same steps at the same rates, and is scored once, after the last
step, on the same 1,000 others. An arm's seed is that of its pretraining, of the examples, their order and dropout.

    sop, nsp, none    pretrained with this loss beside masked words; `none` has no pooler, and begins with a fresh one
    unshared          as sop, with weights of its own for each layer
    random            as sop, not pretrained
    frozen            logistic regression over sop's pooled output; its weights stay as they are
    words             logistic regression over how often each word occurs in each text; knows no order

A line of RESULTS is one fine-tuning; those that are there are not run again. Needs scikit-learn.
"""

import argparse
import json
import shutil
import time
import warnings
from pathlib import Path

import numpy as np

from minalbert import Albert
from minalbert.tasks import open_task
from minalbert.tasks.finetuning import chosen, finetune
from minalbert.tasks.settings import TaskSettings
from minalbert.train.trained import open_trained, tokenizer_file

FORMATS = {"next": "race", "spans1": "squad2"}  # the others are custom
TASKS = ("order", "permutation", "before", "topic", "next", "spans1")
ARMS = ("sop", "nsp", "none", "unshared", "random", "frozen", "words")
FACTORS = {"task": (str, TASKS), "labels": (int, (50, 200, 1000, 5000)), "arm": (str, ARMS), "seed": (int, (0, 1, 2))}
STEPS_OF_PRETRAINING = 6000
BATCH, STEPS, PASSES, RATE = 32, 300, 10, 1e-3  # steps: at least so many, or so many times through the examples
SPANS = {"steps": 3000, "rate": 2e-3}  # spans1 is learnt late, or not at all


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=Path)
    parser.add_argument("results", type=Path)
    for name, (kind, default) in FACTORS.items():
        parser.add_argument(f"--{name}", type=kind, nargs="*", default=default)
    parser.add_argument("--rate", type=float, help=f"default: {RATE:g}, and {SPANS['rate']:g} for spans1")
    options = parser.parse_args()
    known = read(options.results)
    for seed in options.seed:
        for labels in options.labels:
            for task in options.task:
                for arm in options.arm:
                    recipe = recipe_of(task, labels) | ({"rate": options.rate} if options.rate else {})
                    key = {"task": task, "labels": labels, "arm": arm, "seed": seed, **recipe}
                    if not any(key.items() <= line.items() for line in known):
                        run(options, key)


def recipe_of(task, labels):
    return SPANS if task == "spans1" else {"steps": max(STEPS, PASSES * labels // BATCH), "rate": RATE}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(options, key):
    task, arm, seed = key["task"], key["arm"], key["seed"]
    model = model_of(options.place, arm, seed)
    if model is None or (arm in ("frozen", "words") and task in FORMATS):
        return
    begin = time.process_time()
    settings = settings_of(options.place, model, key)
    metric, score = (by_regression if arm in ("frozen", "words") else by_finetuning)(options.place, settings, arm)
    line = key | {"metric": metric, "score": round(score, 6), "seconds": round(time.process_time() - begin, 2)}
    with options.results.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


def model_of(place, arm, seed):
    """The directory of an arm's weights, or None while it is not pretrained."""
    pretrained = place / "pre" / f"{arm if arm in ('nsp', 'none', 'unshared') else 'sop'}-{seed}"
    if not any(pretrained.glob(f"step-*{STEPS_OF_PRETRAINING}")):
        return None
    if arm != "random":
        return pretrained
    fresh = place / "pre" / f"random-{seed}"
    if not fresh.exists():
        Albert.init(open_trained(pretrained).model.config, seed=seed).save_pretrained(fresh)
        shutil.copy(tokenizer_file(pretrained), fresh)
    return fresh


def settings_of(place, model, key):
    steps = key["steps"]
    return TaskSettings().change(
        task=FORMATS.get(key["task"], "custom"), data=str(place / "tasks" / key["task"]), weights=str(model),
        train_examples=key["labels"], dropout=0.0, batch=BATCH, micro_batch=BATCH, workers=1, kernels="fused",
        steps=steps, warmup=steps // 10, rate=key["rate"], seed=key["seed"], evaluate_every=steps, every=steps,
    )  # fmt: skip


def by_finetuning(place, settings, arm):
    run = place / "finetuning"
    shutil.rmtree(run, ignore_errors=True)
    return finetune(settings, run).after.headline()[0]


def by_regression(place, settings, arm):
    from sklearn.linear_model import LogisticRegression

    model, tokenizer, _ = open_trained(settings.training.weights)
    task = open_task(settings.task.task, settings.task.data, model.config.max_position_embeddings)
    train = chosen(task.examples("train", tokenizer), settings.task.train_examples, settings.training.seed)
    dev = task.examples(task.dev, tokenizer)
    features = pooled if arm == "frozen" else counts
    regression = LogisticRegression(max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regression.fit(features(model, task, train), [item.label for item in train])
    return "accuracy", float(regression.score(features(model, task, dev), [item.label for item in dev]))


def pooled(model, task, examples):
    inputs = [
        task.batch([examples[i] for i in range(first, min(first + 100, len(examples)))])[0]
        for first in range(0, len(examples), 100)
    ]
    return np.concatenate([model.encode(*each)[1] for each in inputs])


def counts(model, task, examples):
    """How often each word occurs, in each of the two texts: (N, 2 V)"""
    found, words = np.zeros((len(examples), 2, model.config.vocab_size)), range(len(examples))
    for row in words:
        (sequence,) = examples[row].sequences
        np.add.at(found[row], (sequence.token_type_ids, sequence.input_ids), 1)
    return found.reshape(len(examples), -1)


if __name__ == "__main__":
    main()
