"""python -m exercises.mutants: wrong answers by the thousand, and which of them have full marks."""

import argparse
from pathlib import Path

from . import report
from .generate import chosen, mutants
from .run import differences, equivalent, run, sampled


def main():
    parser = argparse.ArgumentParser(prog="python -m exercises.mutants", description=__doc__)
    parser.add_argument("--only", help="an exercise, ex05, or a variant, ex04-erf")
    parser.add_argument("--sample", type=int, help="so many of the mutants of each, chosen by the seed; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/mutants"), help="a folder for the lists")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"{'':16}{'tried':>8}{'caught':>8}{'equivalent':>12}{'missed':>8}{'unknown':>9}   with a cause")
    for source in chosen(options.only):
        ran = run(sampled(list(mutants(source)), options.sample, options.seed))
        known, caught = equivalent(), [one for one in ran if one.caught]
        lost = [one for one in ran if not one.caught and one.mutant.name not in known]
        report.survivors(options.out, source, lost, {})
        differs = differences(source.lesson, lost)
        report.survivors(options.out, source, lost, differs)
        report.causes(options.out, source, ran)
        missed, with_cause = sum(map(bool, differs.values())), sum(bool(one.cause) for one in caught)
        print(f"{source.lesson.name:16}{len(ran):8}{len(caught):8}{len(ran) - len(caught) - len(lost):12}"
              f"{missed:8}{len(lost) - missed:9}   {with_cause / max(len(caught), 1):.1%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
