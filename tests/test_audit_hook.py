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
class Number(int):
    def __fspath__(self): return hidden
Refused = PermissionError, ImportError
class Text(str):
    def startswith(self, *_): return True
    __eq__ = startswith
    __hash__ = str.__hash__
def machine_code(name, place):
    return importlib.machinery.ExtensionFileLoader(name, place).create_module(
        importlib.machinery.ModuleSpec(name, None, origin=place))
"""
LISTEN = "hook.listen(own, [readable, own], [secret])\n"
REFUSED = [
    "open(hidden)", "open(file, 'w')", "open(file.encode(), 'a')", "os.listdir(secret)", "os.listdir('/')",
    "os.open(readable, os.O_RDONLY)", "os.open(Text(file), os.O_WRONLY)", "os.remove(Text(file))", "os.remove(Like())",
    "os.rename(file, 'mine')", "os.rename('mine', file)", "os.chmod(there, 0)", "os.chmod(file, 0)",
    "os.utime(there)", "os.truncate(file, 0)", "os.mkdir(file + '.new')", "shutil.copyfile(file, file + '.new')",
    "os.symlink(file, 'mine')", "os.link(file, 'mine')", "os.system('true')", "sys._current_frames()",
    "__import__('_testcapi')", "__import__('a._xxsubinterpreters')", "__import__(Text('_interpreters'))",
    "machine_code('some', 'mine')", "machine_code('a._testcapi', file)", "machine_code('some', hidden)",
    "open(os.path.join(own, '..', 'readable', 'secret', 'hidden'))", "open('../readable/secret/hidden')",
    "open(Number(2**70))", "os.open('mine', os.O_RDONLY)", "open('new/../mine')", "os.chdir(readable)",
    "machine_code('-posixsubprocess', file)", "machine_code('_posixsubprocess\\0x', file)", "__import__('readline')",
]  # fmt: skip
ON_UNIX = [
    "os.fork()", "os.kill(os.getppid(), 0)", "os.chown(there, 0, 0)",
    "os.open('../readable/file', os.O_WRONLY, dir_fd=os.open(own, os.O_RDONLY))",
    "os.symlink('mine', 'link')", "os.link('mine', 'link')",
]  # fmt: skip
ALLOWED = [
    "open(file).close()", "open('mine', 'w').close()", "Path('new').mkdir()", "os.listdir('.')", "os.listdir(readable)",
    "shutil.copyfile(file, 'copy')", "Path('copy').unlink()", "tempfile.TemporaryDirectory(dir='.').cleanup()",
]  # fmt: skip
# All that can be reached from an error's frames without a look into memory; what decides must not be among it.
REACHED = """
import functools, types
def inside(value):
    if isinstance(value, types.FrameType):
        return [value.f_locals, value.f_globals, value.f_builtins, value.f_code]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__globals__, value.__builtins__, value.__defaults__, value.__kwdefaults__, value.__code__, *cells]
    if isinstance(value, types.CodeType):
        return value.co_consts
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, BaseException):
        frames = [frame for frame, _ in traceback.walk_tb(value.__traceback__)]
        return [value.__context__, value.__cause__, value.args, *frames]
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (tuple, list, set, frozenset)) else ()
def reached(error):
    found, left = {}, [error]
    while left:
        value = left.pop()
        if id(value) not in found:
            found[id(value)] = value
            left += inside(value)
    return found.values()
def disarm(values):
    for value in values:
        if isinstance(value, types.FunctionType) and value.__module__ == "hook":
            free, names = value.__code__.co_freevars, {}
            inner = f"    def inner(*args):\\n        {', '.join(free) or None}\\n    return inner"
            exec(f"def outer({', '.join(free)}):\\n{inner}", names)
            value.__code__ = names["outer"](*free).__code__
def deciding(values):
    codes = [getattr(value, "__code__", getattr(value, "f_code", None)) for value in values]
    return [code.co_name for code in codes if code and code.co_name in ("decide", "outside", "real", "opened")]
"""
ERRORS = {
    "refused": "open(file, 'w')",
    "too deep": "def deep(): open(file).close() or deep()\ndeep()",
    "an argument is missing": "sys.audit('open')",
    "an argument of another kind": "sys.audit('os.remove', file, 'no number')",
    "errors are no errors": "import builtins\nbuiltins.BaseException = builtins.RecursionError = ValueError\n"
    "sys.audit('os.remove', file, 'no number')",
}
# Arguments of classes of one's own, whose methods see the frame that calls them.
SEEN = """
seen = []
def see(result):
    def method(*args):
        seen.append(sys._getframe(1).f_code.co_name)
        return result
    return method
def like(base, value):
    special = ("__eq__", "__hash__", "__len__", "__getitem__", "__bytes__", "__str__", "__fspath__", "__index__",
               "__add__", "__and__", "__rand__", "__format__", "startswith", "rpartition", "decode")
    methods = {name: see(value) for name in special} | {"__class__": property(see(base))}
    return type("Like", (base,), methods)(*([value] if base is not object else []))
"""


def run(tmp_path, code, before=""):
    for name in ("own", "readable", "readable/secret"):
        (tmp_path / name).mkdir()
    (tmp_path / "readable" / "file").write_text("untouched")
    (tmp_path / "readable" / "secret" / "hidden").write_text("untouched")
    places = [tmp_path / name for name in ("own", "readable", "readable/secret")]
    argv = [sys.executable, "-c", BEGIN + before + LISTEN + code, *places]
    result = subprocess.run(argv, capture_output=True, text=True)
    assert (tmp_path / "readable" / "file").read_text() == "untouched"
    return result


def test_what_is_refused_and_what_is_not(tmp_path):
    refused = REFUSED + (ON_UNIX if sys.platform != "win32" else [])
    lines = f"for line in {refused!r}:\n    try: eval(line)\n    except Refused as error: print(error)\n"
    lines += f"for line in {ALLOWED!r}:\n    eval(line)\n"
    result = run(tmp_path, lines)
    assert result.returncode == 0, result.stderr
    said = result.stdout.splitlines()
    assert [line for line in said if not line.startswith("a submission may not do this: ")] == []
    assert len(said) == len(refused)


@pytest.mark.parametrize("name", ERRORS)
def test_what_decides_is_out_of_reach_of_an_error(tmp_path, name):
    caught = f"Any = BaseException\ntry:\n    exec({ERRORS[name]!r})\nexcept Any as error:\n    caught = error\n"
    result = run(tmp_path, f"{REACHED}{caught}print(type(caught).__name__, deciding(reached(caught)))")
    kind = "RecursionError" if name == "too deep" else "PermissionError"
    assert result.stdout.splitlines() == [f"{kind} []"], result.stderr


@pytest.mark.parametrize("name", ERRORS)
def test_nothing_that_is_reached_can_be_disarmed(tmp_path, name):
    """The error's frames and the module itself: each function of the hook that is found there gets other code."""
    caught = f"Any = BaseException\ntry:\n    exec({ERRORS[name]!r})\nexcept Any as error:\n    caught = error\n"
    touch = "disarm([*reached(caught), *reached(vars(hook))])\nopen(file, 'w').write('x')\n"
    result = run(tmp_path, f"{REACHED}{caught}{touch}")
    assert result.returncode in (1, 66)
    assert result.returncode == 66 or "PermissionError: a submission may not do this" in result.stderr


def test_what_decides_calls_no_method_of_an_argument(tmp_path):
    asked = (
        "for base, value in ((str, file), (bytes, file.encode()), (int, 7), (object, file)):\n"
        "    one = like(base, value)\n    del seen[:]\n"
        "    for event in ('open', 'os.remove', 'import', 'os.listdir'):\n"
        "        try: sys.audit(event, one, one, one, one)\n        except Refused: pass\n"
        "    print(seen)\n"
    )
    result = run(tmp_path, SEEN + asked)
    assert result.stdout.splitlines() == ["[]"] * 4, result.stderr


def test_what_decides_makes_nothing_whose_class_can_be_changed(tmp_path):
    changed = (
        "for name in ('st_mode', '__getattribute__'):\n"
        "    setattr(os.stat_result, name, property(see(0)) if name == 'st_mode' else see(0))\n"
        "for path in (file, hidden, own, 'mine'):\n    try: sys.audit('open', path, 'r', 0)\n    except Refused: pass\n"
        "print(seen)\n"
    )
    assert run(tmp_path, SEEN + changed).stdout.splitlines() == ["[]"]


def test_a_submission_has_no_audit_hook_of_its_own(tmp_path):
    own = "heard = []\nsys.addaudithook(lambda *event: heard.append(event))\nopen(file).close()\nprint(heard)\n"
    assert run(tmp_path, own).stdout.splitlines() == ["[]"]


def test_what_decides_calls_no_error_handler_of_a_codec(tmp_path):
    registered = (
        "import codecs\n"
        "see_it = lambda error: seen.append(sys._getframe(1).f_code.co_name) or ('?', error.end)\n"
        "for name in ('surrogateescape', 'surrogatepass', 'strict'):\n    codecs.register_error(name, see_it)\n"
        "for path in ('\\ud800', '\\udc80', '\\udfff', b'\\xff', b'\\xed\\xa0\\x80'):\n"
        "    try: sys.audit('open', path, 'r', 0)\n    except PermissionError: pass\n"
        "print(seen)\n"
    )
    assert run(tmp_path, SEEN + registered).stdout.splitlines() == ["[]"]


def test_the_process_ends_where_the_first_hook_lets_pass_what_it_must_refuse(tmp_path):
    result = run(tmp_path, "open(file, 'w')", before="hook.refuse = lambda decide, event, args: None\n")
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
