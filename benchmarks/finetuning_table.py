"""The results of finetuning.py as a table: `python benchmarks/finetuning_table.py RESULTS.jsonl`.

A cell has the scores of all seeds in their order; a dash where none was run.
"""

import sys
from pathlib import Path

from finetuning import ARMS, TASKS, read


def table(lines):
    seeds = range(1 + max(line["seed"] for line in lines))
    found = {tuple(line[name] for name in ("task", "labels", "arm", "seed")): line["score"] for line in lines}
    rows = sorted({(TASKS.index(task), labels) for task, labels, *_ in found})
    yield "| task | labels | " + " | ".join(ARMS) + " |"
    yield "|---|---:|" + "---|" * len(ARMS)
    for task, labels in rows:
        cells = [" ".join(shown(found.get((TASKS[task], labels, arm, seed))) for seed in seeds) for arm in ARMS]
        yield f"| {TASKS[task]} | {labels:,} | " + " | ".join(cells) + " |"


def shown(score):
    return "–" if score is None else f"{score:.3f}".lstrip("0")


if __name__ == "__main__":
    print("\n".join(table(read(Path(sys.argv[1])))))
