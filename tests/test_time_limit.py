"""A submission's time is its processor's: other work on the machine takes no points, and nothing goes on for ever."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from submissions import RIGHT, said, written

from minalbert_course.catalogue import find
from minalbert_course.grade import fenced, process, time_limit
from minalbert_course.grade.batch import graded
from minalbert_course.grade.fenced import SubmissionLimits
from minalbert_course.grade.pipes import PipesOfWindows
from minalbert_course.grade.time_limit import ProcessorTime

LESSON = find("ex05")
LIMITS = SubmissionLimits(call=1, all=12, memory=512)
COUNTED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process has used")
SPIN = "\ndef spin(seconds):\n    end = time.thread_time() + seconds\n    while time.thread_time() < end: pass\n"
FIRST = "import itertools\ncalls = itertools.count()\n"


@pytest.fixture(autouse=True)
def clock(request, monkeypatch):
    """By the clock nothing ends while processor time is counted, however busy this machine is; else it ends soon."""
    for module in (fenced, time_limit):
        monkeypatch.setattr(module, "CLOCK", 2 if request.node.get_closest_marker("skipif") is None else 1000)


def marked(tmp_path, code, limits=LIMITS):
    """A right file with this code at its end."""
    return graded(written(tmp_path, "in", f"{RIGHT}\nimport threading, time\n{SPIN}{code}"), LESSON, limits=limits)


def wrapped(before):
    return f"right = softmax_forward\ndef softmax_forward(x):\n    {before}\n    return right(x)\n"


@COUNTED
def test_waiting_takes_no_points_where_the_processor_time_is_short(tmp_path):
    """As on a busy machine: two calls last longer than a call may compute."""
    grade = marked(tmp_path, FIRST + wrapped("time.sleep(1.5 * (next(calls) < 2))"))
    assert grade.marks.points == 10, said(grade)


@COUNTED
def test_calls_are_measured_each_for_itself(tmp_path):
    """Four of them need more, all together, than one call may use."""
    grade = marked(tmp_path, FIRST + wrapped("spin(0.4 * (next(calls) < 4))"))
    assert grade.marks.points == 10, said(grade)


@COUNTED
@pytest.mark.parametrize(
    "loop",
    [
        "spin(600)",
        "time.thread_time = time.process_time = lambda: 0.0; spin(600)",
        "threads = [threading.Thread(target=spin, args=(600,)) for _ in range(3)]; [t.start() for t in threads]; "
        "[t.join() for t in threads]",
    ],
    ids=["alone", "with clocks of its own", "in threads"],
)
def test_a_loop_ends_by_its_processor_time(tmp_path, loop):
    grade = marked(tmp_path, wrapped(loop))
    assert "softmax_forward took more than 1 seconds of processor time: an endless loop?" in said(grade)
    assert grade.marks.points < 10


@pytest.mark.parametrize("wait", ["time.sleep(600)", "threading.Lock().acquire(); lock.acquire(); lock.acquire()"])
def test_what_sleeps_or_waits_for_ever_ends_by_the_clock(tmp_path, wait):
    grade = marked(tmp_path, f"lock = threading.Lock()\n{wrapped(wait)}")
    assert "softmax_forward took more than 2 seconds by the clock: an endless loop, or does it wait" in said(grade)


def test_a_thread_in_the_pipes_ends_what_sleeps_too(tmp_path, monkeypatch):
    """Windows. Of the four functions that check this exercise the other three answer as before."""
    monkeypatch.setattr(process, "Pipes", PipesOfWindows)
    grade = marked(tmp_path, "def softmax_backward(dy, cache): time.sleep(600)\n")
    assert grade.marks.points >= 3
    assert "softmax_backward took more than 2 seconds by the clock" in said(grade)


@COUNTED
def test_all_calls_together_have_an_end(tmp_path):
    grade = marked(tmp_path, wrapped("spin(0.5)"), SubmissionLimits(call=1, all=3, memory=512))
    assert "the submission has used up its 3 seconds of processor time" in said(grade)


def test_where_nothing_is_counted_the_clock_ends_a_loop(tmp_path, monkeypatch):
    """macOS, Windows, a container."""
    monkeypatch.setattr(time_limit, "ticks", lambda pid: Path("/proc/nothing").read_text())
    assert "took more than 2 seconds by the clock" in said(marked(tmp_path, wrapped("spin(600)")))


@COUNTED
@pytest.mark.parametrize(
    "code",
    [
        "spin(0.7)",
        "t = threading.Thread(target=spin, args=(0.7,)); t.start(); t.join()",
        "child = os.fork()\nif not child: spin(0.7); os._exit(0)\nos.waitpid(child, 0)",
        "if not os.fork(): spin(0.7); time.sleep(60)",
        "if not os.fork(): spin(0.7); os._exit(0)",
        "def fork():\n    if not os.fork(): spin(0.7)\n    time.sleep(60)\nthreading.Thread(target=fork).start()",
        "open('/proc/self/comm', 'w').write('1 (a) R 9 9'); spin(0.7)",
    ],
    ids=["itself", "a thread", "a child that ended", "a child", "a zombie", "a thread's child", "another name"],
)
def test_all_that_a_process_started_is_counted(code):
    code = f"import os, threading, time\n{SPIN}{code}\nprint(flush=True)\ntime.sleep(60)\n"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    used, end = ProcessorTime(process.pid), time.monotonic() + 30
    try:
        while used.seconds < 0.6 and time.monotonic() < end:
            time.sleep(0.05)
        assert 0.6 <= used.seconds < 5
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
