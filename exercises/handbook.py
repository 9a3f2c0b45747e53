"""exercises/CATALOGUE.md: the exercises, and the mistakes that are known, with what students are told."""

import tomllib

from minalbert_course.catalogue import all_lessons

from .mutants.run import equivalent, recorded, the_right_one, with_a_cause
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
    yield f"`pytest tests/test_course_exercises.py --planted all` tries all {wrong} mistakes, and `make slow` a third,"
    yield f"another each day. {right} right answers beside the solutions must score all."
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
    """The table of exercises/mutants, from its last whole run; those that had full marks were marked again since."""
    rows = {name: counted(row) for name, row in recorded().items()}
    yield ""
    yield "## Wrong answers made by machine"
    yield ""
    yield "Each solution is changed in one place, in every way that `exercises/mutants` knows, and marked. Caught: it"
    yield "loses points. Equivalent: it gives what the solution gives, and `equivalent.toml` says why. Missed: neither."
    yield "Those that had full marks in the last whole run were marked again since (`--again`)."
    yield "The last columns are of those caught that ran to their end, or of a sample of them: how many were looked at,"
    yield "how many of them get a cause beside the numbers, and how many of these the right one (`mutants/verdict.py`)."
    yield ""
    yield "| exercise | tried | caught | equivalent | missed | looked at | with a cause | the right one |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, row in {**rows, "all": total(rows.values())}.items():
        counts, causes = [f"{row[column]:,}" for column in WHOLE if column in row], [""] * 3
        if row.get("judged"):
            causes = [f"{row['judged']:,}", f"{with_a_cause(row):.1%}", f"{the_right_one(row):.1%}"]
        yield f"| {name} | " + " | ".join([*(counts or ["not run"] + [""] * 3), *causes]) + " |"


WHOLE, OF_CAUSES = ("tried", "caught", "equivalent", "missed"), ("judged", "with_a_cause", "right")


def counted(row):
    """With the numbers of survivors that are equivalent, and of the others."""
    if "survivors" not in row:
        return row
    known = sum(name in equivalent() for name in row["survivors"])
    return row | {"equivalent": known, "missed": len(row["survivors"]) - known}


def total(rows):
    return {column: sum(row.get(column, 0) for row in rows) for column in (*WHOLE, *OF_CAUSES)}


def text():
    return "\n".join(catalogue()) + "\n"
