"""What the page needs beside it: its own files, minalbert as a wheel, and wheel.json, which names the wheel.

By hand: python docs/browser/stage.py TARGET
"""

import json
import shutil
import sys
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

FILES = ("browser.js", "browser.css", "worker.js", "run.py", "count.py", "check.py")


def stage(root, target):
    target.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(root / "docs" / "browser" / name, target / name)
    [wheel] = WheelBuilder(str(root)).build(directory=str(target), versions=["standard"])
    (target / "wheel.json").write_text(json.dumps({"wheel": Path(wheel).name}), encoding="utf-8")


if __name__ == "__main__":
    stage(Path(__file__).parents[2], Path(sys.argv[1]))
