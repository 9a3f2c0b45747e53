"""The demo's model, pretrained and fine-tuned for three tasks: what does it learn, in how much time?

    python benchmarks/finetuning_demo.py PLACE [--seeds 0 1 2] [--tasks order topic spans1] [--share 1] [--json]

For each seed, which is that of weights, masks, order and labels alike: the demo's recipe without its limit of time,
and from its weights

    order    1,000 labels: are two passages in order?      once more with random weights
    topic    1,000 labels: which of sixteen scripts is it?
    spans1   5,000 questions: who has it after one hop, if anybody? Best F1, by the threshold that is best on dev

Each is scored once, after the last step, on 1,000 others; texts are cut to the 32 tokens that the model reads. Seconds
are the processor's, of all threads. `--share 0.01` takes a hundredth of all steps, to see that it runs. What lies in
PLACE already is not trained again, and its seconds are not known.
"""

import argparse
import json
import shutil
import time
from pathlib import Path

from minalbert import Albert
from minalbert.commands.demo import RECIPE, STORIES, WORLDS
from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds.tasks import write_tasks
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.tasks.finetuning import finetune
from minalbert.tasks.settings import TaskSettings
from minalbert.train import open_trained, pretrain

ORDER = {"task": "custom", "train_examples": 1000, "steps": 312, "rate": 0.001}
SPANS = {"task": "squad2", "train_examples": 5000, "steps": 6000, "rate": 0.002}
TASKS = {"order": ORDER, "topic": ORDER, "spans1": SPANS}
SHARED = {"batch": 32, "micro_batch": 16, "dropout": 0.0, "kernels": "fused"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=Path)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--tasks", nargs="*", default=[*TASKS], choices=TASKS)
    parser.add_argument("--share", type=float, default=1.0, help="of all steps (default: 1)")
    parser.add_argument("--workers", type=int, default=0, help="threads (default: one for each core)")
    parser.add_argument("--json", action="store_true", help="one object a line")
    options = parser.parse_args()
    if not (options.place / "tasks").exists():
        write_tasks(options.place / "tasks", train=5000, dev=1000)
    for row in (row for seed in options.seeds for row in rows(options, seed)):
        print(json.dumps(row) if options.json else line(row), flush=True)


def rows(options, seed):
    model = options.place / f"pretrained-{seed}"
    yield timed(lambda: pretrained(options, model, seed), "pretraining", seed)
    for task in options.tasks:
        yield timed(lambda task=task: tuned(options, task, model, seed), task, seed)
    fresh = options.place / f"random-{seed}"
    if "order" in options.tasks:
        shutil.rmtree(fresh, ignore_errors=True)
        random_model(model, fresh, seed)
        yield timed(lambda: tuned(options, "order", fresh, seed), "order", seed, "random")


def timed(work, task, seed, weights="pretrained"):
    begin = time.process_time()
    metric, score = work()
    seconds = time.process_time() - begin
    return {"seed": seed, "task": task, "weights": weights, "metric": metric, "score": score, "seconds": seconds}


def pretrained(options, run, seed):
    corpus = build(story_sources(WORLDS, STORIES), WordTokenizer(WORLDS.words()), options.place / "worlds")
    settings = RECIPE.change(
        corpus=str(options.place / "worlds"), vocab_size=corpus.vocab_size, seed=seed, minutes=0.0, kernels="fused",
        workers=options.workers, steps=shorter(options, RECIPE.training.steps),
    )  # fmt: skip
    result = pretrain(settings, run)
    if result.code:
        raise SystemExit(result.code)  # it was stopped, and the same command resumes it
    return "SOP accuracy", result.after.sop_accuracy


def tuned(options, task, model, seed):
    """(metric, score) after the last step."""
    steps = shorter(options, TASKS[task]["steps"])
    settings = TaskSettings().change(**SHARED | TASKS[task] | {
        "data": str(options.place / "tasks" / task), "weights": str(model), "seed": seed, "workers": options.workers,
        "steps": steps, "warmup": steps // 10, "evaluate_every": steps, "every": steps,
    })  # fmt: skip
    return finetune(settings, options.place / f"{task}-{model.name}").after.headline()[0]


def shorter(options, steps):
    return max(1, round(options.share * steps))


def random_model(pretrained, fresh, seed):
    """A model of the same sizes with fresh weights."""
    model, tokenizer, _ = open_trained(pretrained)
    Albert.init(model.config, seed=seed).save_pretrained(fresh, tokenizer)


def line(row):
    name = row["task"] + (", random weights" if row["weights"] == "random" else "")
    return f"seed {row['seed']}  {name:22} {row['metric']:13} {row['score']:.3f}  {row['seconds']:6.1f} s"


if __name__ == "__main__":
    main()
