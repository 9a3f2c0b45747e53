"""What is written about mutants: survivors as JSON and as text, causes beside what was done, the table."""

import difflib
import json

from .arguments import OFF


def changed_lines(text, solution):
    """[lines before], [lines after]"""
    lines = list(difflib.ndiff(solution.splitlines(), text.replace(f"{OFF}\n\n\n", "").splitlines()))
    before, after = ([line[2:] for line in lines if line[0] == sign] for sign in "-+")
    return before, [line for line in after if line.strip()]


def described(mutant, solution, differs):
    before, after = changed_lines(mutant.text, solution)
    return {"name": mutant.name, "function": mutant.function, "done": mutant.cause, "differs": differs,
            "before": before, "after": after}  # fmt: skip


def survivors(folder, source, lost, differs, calls=None):
    """lost: survivors that are not known to be equivalent; differs, calls: what `differences` found"""
    rows = [described(ran.mutant, source.solution(), differs.get(ran.mutant.name, "")) for ran in lost]
    rows.sort(key=kind)
    path = folder / f"{source.lesson.name}.json"
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    path.with_suffix(".txt").write_text("\n".join(as_text(source, rows, calls)), encoding="utf-8")


def kind(row):
    never = ("arguments", "special-cases", "caches", "memory", "shared", "frozen-sizes", "random", "device")
    return 0 if row["differs"] else 1 if row["name"].split(".")[2] in never else 2


def as_text(source, rows, calls):
    kinds = ["other results than the solution's in further draws of the checks",
             "by what was done, wrong where the draws of the checks never go",
             "the same results in all draws: equivalent, or never visited"]  # fmt: skip
    yield f"{source.lesson.name}: {len(rows)} mutants have full marks and are not listed in equivalent.toml."
    if not rows:
        return
    yield f"compared with the solution in so many calls: {calls}\n" if calls else "not compared yet with the solution\n"
    shown = None
    for row in rows:
        if kind(row) != shown:
            shown = kind(row)
            yield f"== {kinds[shown]} ==\n"
        yield f"{row['name']}\n  {row['done']}"
        if row["differs"]:
            yield f"  differs: {row['differs']}"
        yield from (f"  {sign} {line}" for sign, part in (("-", "before"), ("+", "after")) for line in row[part])
        yield ""


def causes(folder, source, ran, verdicts, name=None):
    """What was done beside what the report says, for each mutant that lost points; not right by the verdict: NOT."""
    lines = []
    for one in sorted((one for one in ran if one.caught), key=lambda one: bool(one.cause or one.stopped)):
        lines += ["", one.mutant.name, f"  done:  {one.mutant.cause}"]
        before, after = changed_lines(one.mutant.text, source.solution())
        lines += [f"  {sign} {line.strip()}" for sign, part in (("-", before), ("+", after)) for line in part]
        word = "cause:" if verdicts.get(one.mutant.name, True) else "NOT THE CAUSE:"
        lines += [f"  {word} {one.cause or one.stopped or None}"]
        for miss in one.misses:
            lines += [f"    [{miss.check}, {miss.points:g}, {miss.of}] {miss.seen}"]
            lines += [f"        {miss.cause}"] if miss.cause else []
    (folder / (name or f"causes_{source.lesson.name}.txt")).write_text("\n".join(lines) + "\n", encoding="utf-8")
