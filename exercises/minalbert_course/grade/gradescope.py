"""results.json, as Gradescope asks for it: one test for each check of each exercise.

https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from ..report import explained


def results(grades, seconds, unmarked=()):
    """unmarked: sentences for files that are not marked"""
    tests = [test(grade, number, outcome) for grade in grades for number, outcome in enumerate(grade.marks.outcomes, 1)]
    if not grades:
        return {"score": 0.0, "output": "There is no Python file and no notebook in what was handed in.", "tests": []}
    remarks = [f"{grade.submission.path.name}: {grade.marks.remark}" for grade in grades if grade.marks.remark]
    not_marked = [f"not marked: {sentence}" for sentence in unmarked]
    return {
        "score": sum(test["score"] for test in tests),
        "execution_time": round(seconds, 2),
        "output": "\n".join([*(remarks or ["Every function could be run."]), *not_marked]),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def test(grade, number, outcome):
    """A file that does not import is a test with 0 points, too, never one that is missing."""
    lesson = grade.marks.lesson
    return {
        "name": f"{lesson.name} {outcome.check.title}",
        "number": f"{int(lesson.exercise[2:])}.{number}",
        "score": outcome.earned,
        "max_score": outcome.check.points,
        "status": "failed" if outcome.seen else "passed",
        "output": "\n".join(explained(lesson, outcome)) if outcome.seen else "right",
        "visibility": "visible",
        "tags": [lesson.exercise],
    }
