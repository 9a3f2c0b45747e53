"""exercises/CATALOGUE.md: the exercises, and the mistakes that are known, with what students are told."""

import tomllib

from minalbert_course.catalogue import all_lessons

from .mutants.run import equivalent, results
from .source import HERE

CATALOGUE = HERE / "CATALOGUE.md"


def short(lesson):
    """ex04_erf: what the files beside a source are called"""
    return lesson.name.replace("-", "_")


def mistakes(lesson):
    """The planted wrong solutions: dicts with name, right, wrong, points, says."""
    path = HERE / "wrong" / f"{short(lesson)}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))["wrong"] if path.exists() else []


def catalogue():
    lessons = all_lessons().values()
    wrong = sum(len(mistakes(lesson)) for lesson in lessons)
    right = len(list((HERE / "right").glob("*.py")))
    yield "# The exercises, and what goes wrong in them"
    yield ""
    yield "What each exercise is about, how long it takes, and what is written in it. Below them is every mistake that"
    yield "is known: the points that it leaves, and what the report contains."
    yield ""
    yield f"The tests run all {wrong} mistakes, and {right} right answers beside the solutions, which must score all."
    yield "`make course` writes this page."
    yield ""
    yield "| exercise | about | minutes | functions | variants |"
    yield "|---|---|---:|---|---|"
    for lesson in lessons:
        if lesson.variant_of is None:
            variants = ", ".join(v.title for v in lessons if v.variant_of == lesson.name)
            link = f"[{lesson.name}](rubrics/{lesson.name}.md)"
            functions = ", ".join(f"`{name}`" for name in lesson.functions)
            yield f"| {link} | {lesson.title} | {lesson.minutes} | {functions} | {variants} |"
    yield from made_by_machine()
    for lesson in lessons:
        yield ""
        yield f"## {lesson.name}: {lesson.title}"
        yield ""
        yield "| mistake | points left | the report contains |"
        yield "|---|---:|---|"
        for row in mistakes(lesson):
            words = " ".join(row["says"].split()).replace("|", "\\|")
            yield f"| {row['name']} | {row['points']:g} | {words} |"


def made_by_machine():
    """The table of exercises/mutants, from its last whole run."""
    rows = results()
    yield ""
    yield "## Wrong answers made by machine"
    yield ""
    yield "Each solution is changed in one place, in every way that `exercises/mutants` knows, and marked. Caught: it"
    yield "loses points. Equivalent: it gives what the solution gives, and `equivalent.toml` says why. Missed: neither."
    yield "The last column is of those caught that ran to their end: how many get a cause beside the numbers."
    yield ""
    yield "| exercise | tried | caught | equivalent | missed | caught, with a cause |"
    yield "|---|---:|---:|---:|---:|---:|"
    known = equivalent()
    for row in rows.values():
        row["missed"] = sum(name not in known for name in row["survivors"])
        row["equivalent"] = len(row["survivors"]) - row["missed"]
    columns = ("tried", "caught", "equivalent", "missed", "with_a_cause", "stopped")
    rows["all"] = {column: sum(row[column] for row in rows.values()) for column in columns}
    for name, row in rows.items():
        share = row["with_a_cause"] / max(row["caught"] - row["stopped"], 1)
        yield f"| {name} | " + " | ".join(f"{row[column]:,}" for column in columns[:4]) + f" | {share:.1%} |"


def text():
    return "\n".join(catalogue()) + "\n"
