"""Which fences stand here: asked of a worker, before any submission is run."""

import tempfile
from pathlib import Path

from ..errors import CourseError
from .fence import KERNEL
from .fenced import Fenced, Refused


def fences_here(lesson, limits, new_worker):
    """Those that a worker with a file of empty functions says it has raised."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{lesson.name}.py")
        path.write_text("".join(f"def {name}():\n    pass\n" for name in lesson.functions), encoding="utf-8")
        try:
            with Fenced(lesson, path, limits, new_worker) as host:
                return list(host.fences)
        except Refused as error:
            raise CourseError(f"no submission can be run here: {error}") from error


def sentence(standing, container=None):
    """One line for the instructor. `container`: the program that makes one for each submission."""
    if container:
        return (f"fences: a container of {container} for each submission (no network, read-only, not root); in it "
                f"{'; '.join(standing)}")  # fmt: skip
    if not (missing := absent(standing)):
        return f"fences: {'; '.join(standing)}"
    return (f"fences: {'; '.join(standing)}. NOT here: {'; '.join(missing)}. Python's audit hook stops mistakes, not "
            "attacks: for submissions of strangers use Linux or --container")  # fmt: skip


def absent(standing):
    return [fence for fence in KERNEL if fence not in standing]


def may_be_secret(standing, container, trust):
    """Refuse a term's secret where a submission that gets around the audit hook could read it."""
    if container or trust or not (missing := absent(standing)):
        return
    raise CourseError(
        f"--term-file is refused here: without {' and '.join(missing)} a submission that gets around Python's audit "
        "hook could read the secret; use --container, or Linux, or leave --term-file out, which checks with the public "
        "numbers; or --trust, if you trust everybody who wrote these files"
    )
