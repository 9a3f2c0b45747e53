"""What a submission's process has in its memory: what its exercise's file imports, and the code of no answer."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import exercise_files
import pytest

from minalbert_course.catalogue import all_lessons
from minalbert_course.grade import tasks

LESSONS = list(all_lessons().values())
PROBE = """
import gc, importlib, json, sys, types
sys.path.insert(0, {grade!r})
import worker
worker.bare("minalbert_course", worker.COURSE)
worker.bare("minalbert_course.grade", worker.COURSE / "grade")
from minalbert_course.grade import inside, offered
task = json.loads(sys.stdin.read())
if task["makers"]:
    inside.Worker(None, None, task).prepare(task["makers"])
offered.offer(task["imports"], task["withheld"], task["stars"])
found = {{}}
for thing in gc.get_objects():
    if type(thing) is types.FunctionType and offered.is_library(thing) and thing.__code__.co_name != "refused":
        codes = [thing.__code__]
        while codes:
            code = codes.pop()
            codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
            found[code.co_code.hex()] = thing.__module__ + "." + thing.__qualname__
print(json.dumps(found))
"""


@functools.cache
def in_memory(lesson):
    """{code: name} of the library's functions that still do something"""
    probe = PROBE.format(grade=str(Path(tasks.__file__).parent))
    task = json.dumps(tasks.task_of(lesson))
    result = subprocess.run([sys.executable, "-c", probe], input=task, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_no_answer_is_in_memory_and_no_module_that_the_file_does_not_need(lesson):
    found = in_memory(lesson)
    assert not [f.__qualname__ for f in lesson.withheld if found.get(f.__code__.co_code.hex()) == full_name(f)]
    allowed = {"ex04-erf": ("minalbert.layers.erf", "minalbert.backend"), "ex11": ("minalbert.",)}
    if not {"minalbert.layers", "minalbert_course.block", "minalbert.optim"} & set(tasks.imports(lesson)):
        places = ("minalbert.config", "minalbert.errors", "minalbert.arguments", "minalbert_course.makers.")
        strange = [name for name in found.values() if not name.startswith((*places, *allowed.get(lesson.name, ())))]
        assert set(strange) <= {"minalbert.__getattr__"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ex11", "ex11-average"])
def test_nothing_in_memory_counts_or_adds_up_batches(name):
    found = in_memory(next(lesson for lesson in LESSONS if lesson.name == name))
    adding = {"totals_of", "add_losses", "Workers.sum_of", "Workers.slices_of", "Workers.gradient", "Workers.losses"}
    assert not {f"minalbert.parallel.workers.{each}" for each in adding} & set(found.values())


def full_name(function):
    return f"{function.__module__}.{function.__qualname__}"


def test_an_import_of_the_library_costs_nothing_and_a_call_says_why(tmp_path):
    from submissions import LIMITS, said, written

    from minalbert_course.grade.batch import graded

    lesson = next(lesson for lesson in LESSONS if lesson.name == "ex05")
    lines = (
        "import minalbert, minalbert.layers as layers\nfrom minalbert import Albert, AlbertConfig, gradcheck\n"
        "from minalbert.layers import softmax, linear_forward\nfrom minalbert.gradcheck import *\n"
        "from minalbert_course import check\nassert AlbertConfig().hidden_size\n"
    )
    right = exercise_files.solution("ex05")
    assert graded(written(tmp_path, "a", right + lines), lesson, limits=LIMITS).marks.points == 10
    wrong = right + lines + "def softmax_forward(x):\n    return linear_forward(x, x, x)\n"
    grade = graded(written(tmp_path, "b", wrong), lesson, limits=LIMITS)
    assert "the library's linear_forward is not there while this exercise is marked; write your own" in said(grade)


OTHER_WAYS = """
asked = accumulate
def accumulate(model, slices):
    import copy
    ids, mask, types, *_ = slices[0]
    other = copy.deepcopy(model)
    other.forward(ids, mask, types).backward(dpooled=np.ones((len(ids), model.config.hidden_size)))
    other.encode_many([[2, 6, 7], [2, 8]])
    other.hidden_states(ids)
    other.release()
    return asked(type(model)(model.config, model.params), slices)
"""


@pytest.mark.slow
def test_a_model_of_exercise_11_does_all_the_rest_and_copies_of_it_do_too(tmp_path):
    from submissions import LIMITS, said, written

    from minalbert_course.grade.batch import graded

    lesson = next(lesson for lesson in LESSONS if lesson.name == "ex11")
    text = exercise_files.solution("ex11") + OTHER_WAYS
    grade = graded(written(tmp_path, "a", text, "ex11_training.py"), lesson, limits=LIMITS)
    assert grade.marks.points == 10, said(grade)
