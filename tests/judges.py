"""Judges of planted mistakes: `python tests/judges.py` judges every package that a line on its stdin names.

A line [folder, judge], in JSON, is answered with [code, stdout, stderr]: code is 1 if the judge finds a mistake in the
minalbert that lies in the folder, 0 if it finds none. "split: steps_are_those" has the judge look at those of its tests
alone whose names hold that. All that judges need besides minalbert is imported once; each package is judged in a fork,
which imports it from its folder.
"""

import json
import os
import signal
import sys
import traceback

import hypothesis  # noqa: F401
import numpy.testing  # noqa: F401
import pytest
import safetensors.numpy  # noqa: F401
import threadpoolctl  # noqa: F401
from forks import Printed, in_a_process

SECONDS = 900  # for a package


def gradcheck(_):
    from minalbert.gradcheck.cases import all_cases

    def wrong(case):
        try:
            return not case.check(entries=False).passed
        except (ValueError, TypeError):  # arrays that no longer fit
            return True

    return any(wrong(case) for case in all_cases())


def judge_of(*names, only=""):
    """A judge that runs these files of tests up to the first test that fails; `only` is what pytest's -k takes."""
    options = ["-qx", "--tb=short", "--disable-plugin-autoload", "-p", "no:cacheprovider", "-k"]
    return lambda these: pytest.main([*options, these or only, *(f"test_{name}.py" for name in names)])


JUDGES = {
    "gradcheck": gradcheck,
    "values": judge_of("values", "golden", "model"),
    "fused": judge_of("implementations"),
    "tiles": judge_of("implementations", only="tiles_of_all_kinds"),
    "losses": judge_of("implementations", only="weights_of_losses"),
    "dropout": judge_of("backend", "implementations", only="slices_share_no_counter or every_site"),
    "memory": judge_of("arena", "implementations", only="arena or release or memory or left_behind or recomputing"),
    "slices": judge_of("slices", "parallel"),
    "threads": judge_of("threads"),
    "sparse": judge_of("sparse_attention"),
    "steps": judge_of("optim", "schedule"),
    "reversible": judge_of("reversible"),
    "compiled": judge_of("compiled_optimisers"),
    "speed": judge_of("rates", "bench"),
    "ranks": judge_of("ranks", "tensor_shares"),
    "split": judge_of("split", "split_runs"),
    "supervisor": judge_of("supervisor"),
    "tasks": judge_of("task"),
    "tokens": judge_of("token_task"),
    "finetune": judge_of("finetune", only="not killed"),
    "best": judge_of("best"),
    "sweep": judge_of("sweep"),
}


def judge_here(folder, judge, pipe):
    signal.alarm(SECONDS)
    printed = Printed()
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = folder  # for the processes that tests start
    name, _, these = judge.partition(": ")
    try:
        code = int(JUDGES[name](these))
    except BaseException:
        traceback.print_exc()
        code = None
    print(json.dumps([code, *printed()]), file=pipe)


if __name__ == "__main__":
    for line in sys.stdin:
        folder, judge = json.loads(line)
        answers, status = in_a_process(lambda pipe: judge_here(folder, judge, pipe))  # noqa: B023  called at once
        print(answers[0].strip() if answers else json.dumps([f"status {status}", "", ""]), flush=True)
