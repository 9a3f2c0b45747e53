"""`minalbert gradcheck`: the same checks as `pytest --gradcheck`, from the command line."""

import argparse
import sys
import traceback

from tqdm import tqdm

from ..gradcheck.cases import all_cases
from ..gradcheck.table import lines
from .printing import print_result


def add_arguments(parser):
    parser.add_argument("case", nargs="*", help="check only the cases whose name contains one of these words")
    parser.add_argument("--directions", action="store_true", help="one random direction per tensor: milliseconds")
    parser.add_argument("--method", choices=("complex", "central"), default="complex", help="default: complex")
    parser.add_argument("--seed", type=_seed, default=0, help="seed of the upstream gradients and weights; default: 0")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _seed(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def run(options):
    words = [word.lower() for word in options.case]
    cases = [case for case in all_cases() if not words or any(word in case.name.lower() for word in words)]
    if not cases:
        names = "\n  ".join(case.name for case in all_cases())
        print(f"no case is named like {' or '.join(map(repr, options.case))}; there are\n  {names}", file=sys.stderr)
        return 2
    rows, wrong = [], []
    for case in tqdm(cases, desc="gradient check", unit="case", leave=False, disable=None):
        try:
            report = case.check(not options.directions, options.method, options.seed)
        except Exception as error:                   # a student's layer; the other cases are checked
            wrong.append(f"gradient check of {case.name} crashed: {_last_line(error)}")
            continue
        rows += report.rows()
        wrong += [] if report.passed else [report.explain()]

    result = {"passed": not wrong, "seed": options.seed, "gradients": rows, "wrong": wrong}
    print_result(options, result, [*lines(rows), *wrong])
    return 1 if wrong else 0


def _last_line(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}, line {frame.lineno})"
