"""What Python's audit hook alone refuses: all that there is on macOS, on Windows, and in others' containers."""

import subprocess
import sys
from pathlib import Path

import pytest

COURSE = Path(__file__).parent.parent / "exercises" / "minalbert_course"
BEGIN = f"""
import importlib.machinery, os, sys, shutil, tempfile, traceback
from pathlib import Path
sys.path.insert(0, {str(COURSE / "grade")!r})
import hook
sys.path.pop(0)
own, readable, secret = (os.path.realpath(path) for path in sys.argv[1:])
os.chdir(own)
file, hidden = os.path.join(readable, "file"), os.path.join(secret, "hidden")
there = os.open(file, os.O_RDONLY)
class Like:
    def __fspath__(self): return file
class Text(str):
    def startswith(self, *_): return True
    __eq__ = startswith
    __hash__ = str.__hash__
def machine_code(name, place):
    return importlib.machinery.ExtensionFileLoader(name, place).create_module(
        importlib.machinery.ModuleSpec(name, None, origin=place))
hook.listen(own, [readable, own], [secret])
"""
REFUSED = [
    "open(hidden)", "open(file, 'w')", "open(file.encode(), 'a')", "os.listdir(secret)", "os.listdir('/')",
    "os.open(readable, os.O_RDONLY)", "os.open(Text(file), os.O_WRONLY)", "os.remove(Text(file))", "os.remove(Like())",
    "os.rename(file, 'mine')", "os.rename('mine', file)", "os.chmod(there, 0)", "os.chmod(file, 0)",
    "os.utime(there)", "os.truncate(file, 0)", "os.mkdir(file + '.new')", "shutil.copyfile('mine', file)",
    "os.symlink(file, 'mine')", "os.link(file, 'mine')", "os.system('true')", "sys._current_frames()",
    "__import__('_testcapi')", "__import__('a._xxsubinterpreters')", "__import__(Text('_interpreters'))",
    "machine_code('some', 'mine')", "machine_code('a._testcapi', file)", "machine_code('some', hidden)",
    "open(os.path.join(own, '..', 'readable', 'secret', 'hidden'))", "open('../readable/secret/hidden')",
]  # fmt: skip
ON_UNIX = ["os.fork()", "os.kill(os.getppid(), 0)", "os.chown(there, 0, 0)"]
ALLOWED = [
    "open(file).close()", "open('mine', 'w').close()", "Path('new').mkdir()", "os.listdir('.')", "os.listdir(readable)",
    "shutil.copyfile(file, 'copy')", "Path('copy').unlink()", "tempfile.TemporaryDirectory(dir='.').cleanup()",
]  # fmt: skip
# A refusal's traceback is all that a submission gets of the hook: it changes whatever it finds there.
TOUCH = """
try:
    open(file, "w")
except PermissionError as error:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1:]
assert frames
for frame in frames:
    polite = frame.f_locals.get("polite")
    if polite is not None:
        polite.__code__ = (lambda event, args: None).__code__.replace(co_freevars=polite.__code__.co_freevars)
with open(file, "w") as opened:
    opened.write("x")
"""


def run(tmp_path, code):
    for name in ("own", "readable", "readable/secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "readable" / "file").write_text("untouched")
    (tmp_path / "readable" / "secret" / "hidden").write_text("untouched")
    argv = [sys.executable, "-c", BEGIN + code, *(tmp_path / name for name in ("own", "readable", "readable/secret"))]
    result = subprocess.run(argv, capture_output=True, text=True)
    assert (tmp_path / "readable" / "file").read_text() == "untouched"
    return result


def test_what_is_refused_and_what_is_not(tmp_path):
    refused = REFUSED + (ON_UNIX if sys.platform != "win32" else [])
    lines = f"for line in {refused!r}:\n    try: eval(line)\n    except PermissionError as error: print(error)\n"
    lines += f"for line in {ALLOWED!r}:\n    eval(line)\n"
    result = run(tmp_path, lines)
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert [line for line in said if not line.startswith("a submission may not do this: ")] == []
    assert len(said) == len(refused)


def test_the_process_ends_where_the_hook_was_touched(tmp_path):
    result = run(tmp_path, TOUCH)
    assert result.returncode == 66, result.stderr


@pytest.mark.parametrize(
    "change",
    [
        "os.path.realpath = os.path.join = os.readlink = os.lstat = os.getcwd = os.fspath = lambda *_, **__: own",
        "os.path.realpath.__code__ = (lambda path, *, strict=False: '').__code__",
        "import builtins\nbuiltins.isinstance = builtins.any = builtins.type = lambda *_: True",
    ],
)
def test_changed_modules_do_not_change_what_is_refused(tmp_path, change):
    result = run(tmp_path, f"{change}\nopen(file, 'w')")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("PermissionError: a submission may not do this: o")
