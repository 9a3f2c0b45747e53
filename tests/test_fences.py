"""Submissions that nobody trusts: each gets its marks, and nothing else of what it wants."""

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import exercise_files
import pytest
from submissions import HOSTILE, LIMITS, ON_LINUX, RIGHT, SECRETS_OF_OTHERS, said, written

from minalbert_course.catalogue import find
from minalbert_course.grade import fence
from minalbert_course.grade.batch import graded, grades
from minalbert_course.grade.fenced import Fenced
from minalbert_course.grade.submissions import found

pytestmark = pytest.mark.slow  # `make check` runs it, `make test` does not

LESSON = find("ex05")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_submission_gets_its_marks_and_no_more(name, tmp_path):
    if name in ON_LINUX and sys.platform != "linux":
        pytest.skip(f"{name} needs Linux")
    text, points, says = HOSTILE[name]
    grade = graded(written(tmp_path, name, text), LESSON, "a secret", LIMITS)
    assert not grade.failure
    assert grade.marks.points <= max(points, 0.5), said(grade)  # half a point: nothing was written into
    assert grade.marks.points >= points, said(grade)
    assert says in said(grade)
    assert "\x1b" not in said(grade)


def test_a_right_answer_scores_all_and_its_fences_stand(tmp_path):
    submission = written(tmp_path, "right", RIGHT)
    assert graded(submission, LESSON, "a secret", LIMITS).marks.points == 10
    with Fenced(LESSON, submission.path, LIMITS) as host:
        assert "audit hook" in host.fences
        if sys.platform == "linux":
            assert "limits" in host.fences
        folder = host.worker.folder
    assert not Path(folder).exists()


def test_packages_may_be_read_wherever_they_are_and_no_other_folder_of_the_path(tmp_path, monkeypatch):
    for name in ("site-packages", "course"):
        (tmp_path / name).mkdir()
        monkeypatch.syspath_prepend(tmp_path / name)
    found = fence.readable()
    assert str((tmp_path / "site-packages").resolve()) in found
    assert str((tmp_path / "course").resolve()) not in found


def kernel_has_landlock():
    import ctypes

    return sys.platform == "linux" and ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


@pytest.mark.skipif(not kernel_has_landlock(), reason="this kernel has no Landlock")
def test_files_are_out_of_reach_without_the_audit_hook_too(tmp_path):
    """The C library's own open, which Python's hook never hears of."""
    probe = tmp_path / "probe.py"
    probe.write_text(
        "import ctypes, sys\nfrom minalbert_course.grade import fence\n"
        "libc = ctypes.CDLL(None, use_errno=True)\nfence.landlock(sys.argv[1], fence.readable(), fence.secret())\n"
        "for path in (sys.argv[2], '/etc/passwd', sys.executable):\n    print(libc.open(path.encode(), 0) > 0)\n"
    )
    folder = tmp_path / "own"
    folder.mkdir()
    argv = [sys.executable, probe, folder, SECRETS_OF_OTHERS]
    result = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "True"]


@pytest.mark.skipif(not kernel_has_landlock(), reason="this kernel has no Landlock")
def test_what_is_collected_reaches_no_more_files(tmp_path):
    """The thread that collects has the fences of the one that starts it. Python's hook is left out here."""
    probe, folder = tmp_path / "probe.py", tmp_path / "folder"
    folder.mkdir()
    probe.write_text(
        "import ctypes, gc, sys, threading\nfrom minalbert_course.grade import fence, inside\n"
        "libc, fence.hook.listen = ctypes.CDLL(None), lambda *_: None\n"
        "class Cycle:\n"
        "    def __init__(self): self.itself = self\n"
        "    def __del__(self): print(threading.current_thread() is not threading.main_thread(),\n"
        "                             libc.open(b'/etc/passwd', 0) > 0, libc.open(sys.executable.encode(), 0) > 0)\n"
        "inside.Process(None, None, {'folder': sys.argv[1], 'seconds': 60, 'megabytes': 4096}).enclose([])\n"
        "Cycle()\ngc.collect()\n"
    )
    result = subprocess.run([sys.executable, probe, folder], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["True", "False", "True"]


def grants_namespaces():
    result = subprocess.run(["unshare", "-r", "-n", "-p", "-f", "true"], capture_output=True, check=False)
    return result.returncode == 0


def started(probe, folder):
    """A program that calls `keep` with what it is given; (process, what keeps it alive)"""
    end, lifeline = os.pipe()
    argv = [sys.executable, probe, str(end), folder]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, pass_fds=[end], start_new_session=True)
    os.close(end)
    return process, lifeline


@pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("unshare") or not grants_namespaces(),
    reason="this kernel grants no namespaces",
)
def test_nothing_is_seen_and_nothing_is_left_behind_without_the_audit_hook_too(tmp_path):
    """A child that leaves its session: the keeper kills it when the grader's end of the pipe is closed."""
    probe, folder = tmp_path / "probe.py", tmp_path / "folder"
    folder.mkdir()
    probe.write_text(
        "import os, socket, sys, time\nfrom minalbert_course.grade.keeper import keep\n"
        "fences = keep(int(sys.argv[1]), sys.argv[2])\nprint(os.getpid(), os.getppid(), len(fences), flush=True)\n"
        "try:\n    socket.create_connection(('127.0.0.1', 1))\n"
        "except OSError as error:\n    print(error.errno, flush=True)\n"
        "try:\n    os.utime(sys.argv[0])\nexcept OSError as error:\n    print(error.errno, flush=True)\n"
        "if not os.fork():\n    os.setsid()\ntime.sleep(600)\n"
    )
    process, lifeline = started(probe, folder)
    with process.stdout:
        assert process.stdout.readline().split() == ["1", "0", "2"]  # the first of its world, with no parent in sight
        assert int(process.stdout.readline()) == errno.ENETUNREACH
        assert int(process.stdout.readline()) == errno.EROFS
        os.close(lifeline)
        assert process.communicate(timeout=30) == ("", None)
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone cuts root's rights in parts")
def test_no_right_of_root_is_left(tmp_path):
    probe, folder = tmp_path / "probe.py", tmp_path / "folder"
    folder.mkdir()
    probe.write_text(
        "import sys\nfrom minalbert_course.grade.keeper import keep\nkeep(int(sys.argv[1]), sys.argv[2])\n"
        "for line in open('/proc/self/status'):\n    if line.startswith(('Cap', 'NoNew')): print(line, end='')\n"
    )
    process, lifeline = started(probe, folder)
    with process.stdout:
        said = dict(line.split() for line in process.stdout.read().splitlines())
    os.close(lifeline)
    process.wait(30)
    assert {name: int(said[name + ":"], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs")} == {
        "CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in exercise_files.SOURCES if "-" in name])
def test_a_variant_s_solution_has_all_points_behind_the_fences(name, tmp_path):
    submission = written(tmp_path, "right", exercise_files.solution(name), exercise_files.file_name(name))
    grade = graded(submission, find(name), "a secret", LIMITS)
    assert grade.marks.points == 10, said(grade)


def test_a_hundred_submissions(tmp_path):
    """All exercises, right, empty and wrong ones, hostile ones among them; each gets what it got alone."""
    hostile = [name for name in HOSTILE if name not in ON_LINUX or sys.platform == "linux"]
    expected, folder = {}, tmp_path / "in"
    for number, name in enumerate(hostile):
        text, points, _ = HOSTILE[name]
        expected[written(folder, f"hostile-{number}", text).student, "ex05"] = points
    names = [name for name, source in exercise_files.SOURCES.items() if source.lesson.variant_of is None]
    for number in range(100 - len(hostile)):
        name = names[number % len(names)]
        text, points = (exercise_files.solution, 10) if number % 3 else (exercise_files.stub, 0)
        student = written(folder, f"student-{number}", text(name), exercise_files.file_name(name)).student
        expected[student, name] = points
    submissions, unknown = found(folder)
    assert len(submissions) == 100
    assert not unknown
    lessons = {name: find(name) for name in names}
    begin = time.monotonic()
    marked = grades(submissions, lessons, "public", workers=2, limits=LIMITS)
    print(f"100 submissions in {time.monotonic() - begin:.0f} s on {os.cpu_count()} cores")
    wrong = {grade.key: (grade.marks.points, said(grade)) for grade in marked
             if not expected[grade.key] <= grade.marks.points <= max(expected[grade.key], 0.5)}  # fmt: skip
    assert not wrong
    assert not any(grade.failure for grade in marked)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a worker has no keeper, or no namespaces")
def test_a_submission_reaches_nobody_else_in_its_group_of_processes(tmp_path):
    """kill(0, 9) would end the keeper as well, and what it should have ended would stay."""
    path = tmp_path / "ex04_gelu.py"
    code = "import os\ndef gelu_forward(x): return [os.getpid(), os.getpgrp(), os.getsid(0)], x\n"
    path.write_text(code, encoding="utf-8")
    with Fenced(find("ex04"), path) as host:
        (numbers, _), _ = host.call("gelu_forward", (1.0,), {}, [1])
    assert len(set(numbers)) == 1


# Objects that are collected, whose methods see the frames below them.
COLLECTED = """
import gc, sys
seen = set()
class Cycle:
    def __init__(self): self.itself = self
    def __del__(self):
        frame = sys._getframe(1)
        while frame:
            seen.add((frame.f_globals["__name__"], frame.f_code.co_name))
            frame = frame.f_back
gc.set_threshold(1)
gc.enable()
def gelu_forward(x):
    import time
    while not seen:
        for _ in range(1000):
            Cycle()
            try: open("/etc/passwd")
            except OSError: pass
        gc.collect()
        time.sleep(0.1)
    return sorted(seen), x
"""


def test_nothing_is_collected_while_the_audit_hook_decides(tmp_path):
    path = tmp_path / "ex04_gelu.py"
    path.write_text(COLLECTED, encoding="utf-8")
    with Fenced(find("ex04"), path) as host:
        (seen, _), _ = host.call("gelu_forward", (1.0,), {}, [1])
    assert {module for module, _ in seen} == {"threading", "minalbert_course.grade.collecting"}


# What a submission may expect of `gc`, of interrupts, and of a process that goes on.
USED = """
import _thread, gc, weakref
import numpy as np
class Cycle:
    def __init__(self, large): self.itself, self.large = self, large
    def __del__(self): gc.collect()
def gelu_forward(x):
    for _ in range(300):
        cycle = Cycle(np.ones(2**20))
        known = weakref.ref(cycle)
        del cycle
        assert gc.collect() > 0
        assert known() is None
    _thread.interrupt_main()
    return x, x
"""


def test_a_submission_may_collect_and_interrupts_nobody(tmp_path):
    path = tmp_path / "ex04_gelu.py"
    path.write_text(USED, encoding="utf-8")
    with Fenced(find("ex04"), path, LIMITS) as host:
        pid = host.worker.process.pid
        for _ in range(2):
            (result, _), _ = host.call("gelu_forward", (1.0,), {}, [1])
            assert result == 1.0
        assert host.worker.process.pid == pid
