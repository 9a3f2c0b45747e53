"""python -m exercises.mutants: wrong answers by the thousand, and which of them have full marks."""

import argparse
from pathlib import Path

from . import report
from .generate import chosen
from .run import (
    differences,
    equivalent,
    record,
    recorded,
    right_answers,
    rightly_explained,
    run,
    sampled,
    the_right_one,
    with_a_cause,
    wrong_answers,
)


def main():
    parser = argparse.ArgumentParser(prog="python -m exercises.mutants", description=__doc__)
    parser.add_argument("--only", help="an exercise, ex05, or a variant, ex04-erf")
    parser.add_argument("--sample", type=int, help="so many of each exercise's, chosen by the seed; default: all")
    parser.add_argument("--seed", type=int, default=0)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--again", action="store_true", help="those alone that had full marks in the recorded run")
    what.add_argument("--right", action="store_true", help="right answers instead: which of them lose a point?")
    parser.add_argument("--record", action="store_true",
                        help="keep the numbers for exercises/CATALOGUE.md; of a sample those of causes")  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("build/mutants"),
                        help="a folder for the lists, and for results, so that a run that was stopped can go on")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    (right if options.right else again if options.again else wrong)(options)


def wrong(options):
    print(f"{'':16}{'tried':>8}{'caught':>8}{'equivalent':>12}{'missed':>8}{'with a cause':>14}{'the right one':>15}")
    for source in chosen(options.only):
        found = options.out / f"{source.lesson.name}.jsonl"
        ran = run(sampled(wrong_answers(source), options.sample, options.seed), found=found)
        known, caught = equivalent(), [one for one in ran if one.caught]
        lost = [one for one in ran if not one.caught and one.mutant.name not in known]
        verdicts = rightly_explained(source, ran, found=found)
        judged = [one for one in caught if not one.stopped]
        row = {"judged": len(judged), "with_a_cause": len(verdicts), "right": sum(verdicts.values())}
        print(f"{source.lesson.name:16}{len(ran):8}{len(caught):8}{len(ran) - len(caught) - len(lost):12}{len(lost):8}"
              f"{with_a_cause(row):14.1%}{the_right_one(row):15.1%}", flush=True)  # fmt: skip
        if options.record:
            survivors = [one.mutant.name for one in ran if not one.caught]
            all_of_them = {"tried": len(ran), "caught": len(caught), "survivors": survivors}
            record(source.lesson, row if options.sample else row | all_of_them)
        report.causes(options.out, source, ran, verdicts)
        report.survivors(options.out, source, lost, {})
        report.survivors(options.out, source, lost, *differences(source.lesson, lost))


def again(options):
    print(f"{'':16}{'had full marks':>16}{'have':>6}{'missed':>8}")
    for source in chosen(options.only):
        row = recorded().get(source.lesson.name, {})
        ran = run([one for one in wrong_answers(source) if one[0].name in row.get("survivors", [])])
        if gone := set(row.get("survivors", [])) - {one.mutant.name for one in ran}:
            raise SystemExit(f"{source.lesson.name}: {', '.join(sorted(gone))} are no mutants any more; run all")
        left = [one for one in ran if not one.caught]
        missed = [one for one in left if one.mutant.name not in equivalent()]
        print(f"{source.lesson.name:16}{len(ran):16}{len(left):6}{len(missed):8}", flush=True)
        if options.record and ran:
            survivors = [one.mutant.name for one in left]
            record(source.lesson, {"caught": row["tried"] - len(left), "survivors": survivors})
        report.survivors(options.out, source, missed, {})


def right(options):
    print(f"{'':16}{'tried':>8}{'lost points':>13}")
    for source in chosen(options.only):
        ran = run(sampled(right_answers(source), options.sample, options.seed))
        print(f"{source.lesson.name:16}{len(ran):8}{sum(one.caught for one in ran):13}", flush=True)
        report.causes(options.out, source, ran, {}, f"right_{source.lesson.name}.txt")


if __name__ == "__main__":
    main()
