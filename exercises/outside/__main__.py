"""Write exercises/minalbert_course/outside, from PyTorch and others: python -m exercises.outside (make golden)."""

import importlib
import json
from pathlib import Path

import minalbert_course.outside as stored

HERE, THERE = Path(__file__).parent, Path(stored.__file__).parent


def modules():
    return sorted(path.stem for path in HERE.glob("ex*.py"))


def made(exercise):
    """The text of its file."""
    module = importlib.import_module(f"exercises.outside.{exercise}")
    found = {"from": module.FROM} | {name: value.tolist() for name, value in module.numbers().items()}
    return json.dumps(found, indent=None, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    for exercise in modules():
        (THERE / f"{exercise}.json").write_text(made(exercise), encoding="utf-8")
        print(f"wrote {exercise}.json")
