"""Submissions that want more than marks, for the tests of the grader."""

from pathlib import Path

import exercise_files

from minalbert_course import marking
from minalbert_course.grade import batch
from minalbert_course.grade.fenced import SubmissionLimits
from minalbert_course.grade.submissions import Submission

LIMITS = SubmissionLimits(call=3, all=40, memory=512)
RIGHT = exercise_files.solution("ex05")
STUB = exercise_files.stub("ex05")
SECRETS_OF_OTHERS = Path(__file__).parent.parent / "exercises" / "source" / "ex05_attention.py"

FORWARD = "\ndef softmax_forward(x):\n    "
# name: (the file, points in the grader's draws, what the marks say somewhere)
HOSTILE = {
    "sys.exit at the end": (RIGHT + "\nimport sys\nsys.exit(0)\n", 10, "calls sys.exit"),
    "sys.exit in a function": (RIGHT + FORWARD + "raise SystemExit(0)\n", 0, "called sys.exit"),
    "os._exit": (RIGHT + "\nimport os\ndef softmax_forward(x):\n    os._exit(0)\n", 0, "ended the whole process"),
    "os._exit on import": (RIGHT + "\nimport os\nos._exit(0)\n", 0, "ended the whole process"),
    "an endless loop": (
        RIGHT + "\ndef softmax_backward(dy, cache):\n    while True: pass\n", 3, "took more than"),
    "an endless loop on import": (RIGHT + "\nwhile True: pass\n", 0, "took more than"),
    "endless recursion": (RIGHT + FORWARD + "return softmax_forward(x)\n", 0, "RecursionError"),
    "a flood of prints": (RIGHT + "\nfor _ in range(2000): print('x' * 10000)\n", 10, ""),
    "too much memory": (RIGHT + FORWARD + "return np.ones(10**11), 1\n", 0, "MemoryError"),
    "a huge answer": (RIGHT + FORWARD + "return np.ones(10**7), 1\n", 0, "64 are allowed"),
    "an interrupt": (RIGHT + FORWARD + "raise KeyboardInterrupt\n", 0, "KeyboardInterrupt"),
    "NumPy patched": (
        STUB + "\nimport numpy.testing\nnp.abs = np.asarray = lambda x, *a: 0.0\nnp.allclose = lambda *a: True\n"
        + FORWARD + "return x, x\n", 0, "softmax_forward stopped"),
    "the grader patched": (
        STUB + "\nimport minalbert_course.compare as c, minalbert_course.marking as m\nc.same = lambda *a, **k: None\n"
        "m.outcome = lambda lesson, check, *a: m.Outcome(check, check.points)\n"
        + FORWARD + "return x, x\n", 0, "softmax_backward is not written"),
    "results of its own": (STUB + "\nopen('results.json', 'w').write('{\"score\": 10}')\n", 0, "not written yet"),
    "the library's answer": (STUB + "\nfrom minalbert.layers import *\n", 0, "is the answer to this exercise"),
    "the checks' answer": (STUB + "\nfrom minalbert_course.lessons.ex05.attention import *\n", 0, "is the answer to"),
    "the library's answer, kept": (
        STUB + "\nfrom minalbert.layers import softmax as s\ndef softmax_forward(x, kept=s):\n    return kept(x), 0\n",
        0,
        "is the answer to this exercise",
    ),
    "the checks' answer, by their name": (
        STUB + "\nimport minalbert_course.lessons.ex05.attention as e" + FORWARD + "return e.softmax(x), 0\n",
        0,
        "is the answer to this exercise",
    ),
    "the solution, read": (STUB + f"\nexec(open({str(SECRETS_OF_OTHERS)!r}).read())\n", 0, "may not do this: open"),
    "the grader's memory": (STUB + "\nimport os\nopen(f'/proc/{os.getppid()}/cmdline')\n", 0, "this: open /proc"),
    "the network": (RIGHT + "\nimport socket\nsocket.create_connection(('127.0.0.1', 9))\n", 10, "this: socket"),
    "a program": (RIGHT + "\nimport subprocess\nsubprocess.run(['true'])\n", 10, "may not do this: subprocess"),
    "a fork": (RIGHT + "\nimport os\nos.fork()\n", 10, "may not do this: os.fork"),
    "a kill": (RIGHT + "\nimport os\nos.kill(os.getppid(), 9)\n", 10, "may not do this: os.kill"),
    "files of others": (RIGHT + "\nimport os\nos.remove('/tmp/../etc/hostname')\n", 10, "may not do this: os.remove"),
    "junk in every pipe": (
        RIGHT + "\nimport os" + FORWARD + "for fd in range(3, 20):\n        try: os.write(fd, b'\\xff' * 99)\n"
        "        except OSError: pass\n    return x, x\n", 0, "softmax_forward sent"),
    "forged answers, then sleep": (
        RIGHT + "\nimport os, time, minalbert_course.grade.codec as c" + FORWARD
        + "m = c.dumps({'result': 1, 'written': []})\n"
        "    for fd in range(3, 20):\n        try: os.write(fd, m * 50)\n        except OSError: pass\n"
        "    time.sleep(600)\n", 0, "softmax_forward"),
    "another file in its place": (
        RIGHT + "\nimport os" + FORWARD + "os.remove(__file__)\n"
        "    os.symlink(os.__file__, __file__)\n    os._exit(0)\n", 0, "may not do this: os.symlink"),
    "the hook disarmed": (
        RIGHT + "\nimport sys, os\nfor name, module in list(sys.modules.items()):\n"
        "    if 'fence' in name: module.REFUSED, module.CHANGES = (), {}\nos.fork()\n", 10, "may not do this: os.fork"),
    "the hook looked for": (RIGHT + "\nimport gc\ngc.get_objects()\n", 10, "may not do this: gc."),
    "the library cut": (
        RIGHT + "\nimport os\nos.truncate(np.__file__, 0)\n", 10, "may not do this: os.truncate"),
    "the library, written into": (
        RIGHT + "\nopen(np.__file__, 'a').write('x')\n",
        10,
        "may not do this: open",
    ),
    "the grader's process": (
        RIGHT + "\nimport os, signal\nsignal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)\n", 10, "line"),
    "the grader's limits": (
        RIGHT + "\nimport os, resource\nresource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))\n", 10,
        "may not do this: resource."),
    "half a letter": (RIGHT + FORWARD + "raise ValueError('\\ud800 ' + '\\x1b[2J' * 999)\n", 0, "ValueError"),
    "a class with a name": (RIGHT + FORWARD + "return type('\\x1b[2J', (), {})(), 1\n", 0, "it must be an array"),
    "a number of 5000 digits": (RIGHT + FORWARD + "return 10**5000, 1\n", 0, "softmax_forward stopped"),
    "a thousand files": (
        RIGHT + "\nfor i in range(1000): open(f'{i}.txt', 'w').write('x')\n", 10, "so many files"),
    "objects": (RIGHT + FORWARD + "return object(), {1: {2}}\n", 0, "it must be an array"),
    "text": (RIGHT + FORWARD + "return 'ten points', None\n", 0, "it must be an array"),
    "escape codes": (RIGHT + FORWARD + "raise ValueError('\\x1b[2J ten points')\n", 0, "ten points"),
    "no Python": ("def softmax_forward(x:\n", 0, "is not Python: line 1"),
    "no text": (b"\xff\xfe\x00", 0, "is not a text file"),
    "null bytes": (b"x = 1\x00\n", 0, "null bytes"),
    "nothing": ("", 0, "has none of the functions"),
}  # fmt: skip
ON_LINUX = {
    "the grader's process",
    "the grader's limits",
    "os._exit",
    "os._exit on import",
    "too much memory",
    "a fork",
    "the grader's memory",
}


def written(folder, name, text, file="ex05_attention.py"):
    path = folder / name.replace(" ", "-") / file
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Submission(path.parent.name, "ex05", path)


def said(grade):
    return " ".join([grade.marks.remark, *(f"{o.seen} {o.cause}" for o in grade.marks.outcomes)])


def make_the_grader_fail(monkeypatch, file):
    """Let the grader itself fail on the files of this name; it marks the others."""

    def grades(*args):
        for grade in batch.grades(*args):
            if grade.submission.file == file:
                says = "the grader could not mark this: ZeroDivisionError: of a check"
                grade = batch.Grade(grade.submission, marking.no_marks(grade.marks.lesson, says), says)
            yield grade

    monkeypatch.setattr("minalbert_course.grade.command.grades", lambda *args: [*grades(*args)])
