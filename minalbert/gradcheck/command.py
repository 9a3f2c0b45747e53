"""`minalbert gradcheck`: the same checks as `pytest --gradcheck`, from the command line."""

import json
import sys

from tqdm import tqdm

from .cases import all_cases
from .table import lines


def add_arguments(parser):
    parser.add_argument("case", nargs="*", help="check only the cases whose name contains one of these words")
    parser.add_argument("--directions", action="store_true", help="one random direction per tensor: milliseconds")
    parser.add_argument("--method", choices=("complex", "central"), default="complex", help="default: complex")
    parser.add_argument("--seed", type=int, default=0, help="of the upstream gradients and the weights")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    cases = [case for case in all_cases() if not options.case or any(word in case.name for word in options.case)]
    if not cases:
        names = "\n  ".join(case.name for case in all_cases())
        print(f"no case is named like {' or '.join(map(repr, options.case))}; there are\n  {names}", file=sys.stderr)
        return 2
    reports = []
    for case in tqdm(cases, desc="gradient check", unit="case", leave=False, disable=not sys.stderr.isatty()):
        reports.append(case.check(not options.directions, options.method, options.seed))

    rows = [row for report in reports for row in report.rows()]
    passed = all(report.passed for report in reports)
    if options.json:
        print(json.dumps({"passed": passed, "seed": options.seed, "gradients": rows}, indent=1))
    else:
        print("\n".join(lines(rows)))
    for report in reports:
        if not report.passed:
            print(report.explain(), file=sys.stderr)
    return 0 if passed else 1
