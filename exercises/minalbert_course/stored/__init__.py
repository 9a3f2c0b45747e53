"""Results of runs that take too long for a notebook: a file has a run a line, as a script of benchmarks/ wrote it."""

import json
from importlib import resources


def runs(name):
    """A list of dicts, such as those of benchmarks/finetuning.py: runs("finetuning")"""
    text = (resources.files(__package__) / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
