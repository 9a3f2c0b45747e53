"""Does a survivor give what the solution gives? Both are called with the arguments of the checks, in many draws.

One pass of the checks serves all survivors of an exercise: the solution answers the checks, each survivor is asked the
same, and leaves once it differs.
"""

import ast
import collections
import contextlib
import functools
import tempfile
import time
from pathlib import Path

import numpy as np

from minalbert_course import files
from minalbert_course.calls import holds_given
from minalbert_course.given import Given
from minalbert_course.here import Here
from minalbert_course.makers import ex11
from minalbert_course.marking import mark
from minalbert_course.values import NotWritten, OnDevice, Opaque, Stopped

from ..source import sources

CALLS, SECONDS = 1000, 300.0                         # of each function, for all survivors of an exercise
PRECISION = 1e-7                                     # a hundredth of what the checks allow


class Twins(Here):
    """The solution's host; `others`: {name: (the host of a survivor, the function that was changed)}"""

    def __init__(self, solution, others, text, enough):
        super().__init__(solution.namespace, solution.path, solution.withheld)
        self.others, self.different, self.made_of, self.enough = dict(others), {}, collections.Counter(), enough
        changed = {function for _, function in others.values()}
        self.earlier = {}                            # function -> arguments of an earlier call
        self.kept = collections.defaultdict(lambda: ({}, {}))        # name of a survivor -> what the makers keep for it
        self.concerned = {function: concerned(text, function) for function in changed}

    @property
    def busy(self):
        return any(self.made_of[function] < self.enough for _, function in self.others.values())

    def call(self, name, args, static, opaque):
        """A cache is an Opaque of all caches, {None: the solution's, the name of a survivor: its own}."""
        self.made_of[name] += 1
        with keeping(self.kept[None]):
            result, written = super().call(name, own(args, None), own(static, None), opaque)
        answers, between = {None: result}, name.replace("_backward", "_forward")
        for other, (host, changed) in list(self.others.items()):
            if name not in self.concerned[changed] or self.made_of[changed] > self.enough:
                continue
            try:
                with keeping(self.kept[other]):
                    if between in self.earlier and between != name:  # a cache must not mind another call of forward
                        host.call(between, *self.earlier[between], [])
                    answer, wrote = host.call(name, own(args, other), own(static, other), opaque)
                if difference := unlike(answer, result) or ("" if wrote == written else f"writes into {wrote}"):
                    self.drop(other, f"{name}: {difference}")
                answers[other] = answer
            except (NotWritten, Stopped) as error:
                self.drop(other, f"{name}: {error}")
            except Exception as error:               # a host lets nothing else through but what is no answer at all
                self.drop(other, f"{name}: {type(error).__name__}: {error}")
        if name.endswith("_forward") and self.made_of[name] % 2 and not any(map(holds_given, args)):
            self.earlier[name] = args, static
        return (together(answers) if opaque and isinstance(result, tuple) else result), written

    calls = Here.each_call

    def drop(self, other, difference):
        self.different[other] = f"call {sum(self.made_of.values())}: {difference}"
        del self.others[other]


@contextlib.contextmanager
def keeping(things):
    """Meanwhile the makers of exercise 11 keep models and batches in these dicts, for one host alone."""
    before, (ex11.kept, ex11.lists) = (ex11.kept, ex11.lists), things
    try:
        yield
    finally:
        ex11.kept, ex11.lists = before


def concerned(text, changed):
    """The functions whose results may differ: the changed one, those that call it, and partners of a cache."""
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    found, before = {changed}, set()
    while found != before:
        before = set(found)
        found |= {name for name, node in functions.items()
                  if any(isinstance(inner, ast.Name) and inner.id in before for inner in ast.walk(node))}
        stems = {name.rpartition("_")[0] for name in found if name.endswith(("_forward", "_backward"))}
        found |= {f"{stem}_{way}" for stem in stems for way in ("forward", "backward")}
    return found


class OwnGenerator(Given):
    """One's own generator, which no other host draws from."""

    def make(self):
        return generator(*self.args)


@functools.cache
def generator(which, seed):
    return np.random.default_rng(seed)


def own(value, which):
    """The arguments with one's own caches and generators."""
    if isinstance(value, Opaque):
        return Opaque(value.value[which])
    if isinstance(value, Given) and value.kind == "one rng":
        return OwnGenerator.of("one rng", which, *value.args)
    if type(value) in (tuple, list):
        return type(value)(own(part, which) for part in value)
    return {key: own(part, which) for key, part in value.items()} if isinstance(value, dict) else value


def together(answers):
    """The solution's answer, whose caches are all of theirs."""
    return tuple(
        Opaque({which: answer[i].value for which, answer in answers.items()
                if isinstance(answer, tuple) and i < len(answer) and isinstance(answer[i], Opaque)})
        if isinstance(part, Opaque) else part
        for i, part in enumerate(answers[None])
    )  # fmt: skip


def unlike(yours, expected):
    """What differs, in words, or nothing."""
    if isinstance(expected, Opaque):
        return "" if isinstance(yours, Opaque) else "no cache"
    if isinstance(expected, OnDevice):
        return unlike(yours.host, expected.host) if isinstance(yours, OnDevice) else "not on the device"
    if isinstance(expected, tuple | list):
        if not isinstance(yours, tuple | list) or len(yours) != len(expected):
            return f"{type(yours).__name__} of another length"
        return next((found for a, b in zip(yours, expected, strict=True) if (found := unlike(a, b))), "")
    if isinstance(expected, dict):
        if not isinstance(yours, dict) or yours.keys() != expected.keys():
            return "other names"
        return next((f"{key}: {found}" for key, b in expected.items() if (found := unlike(yours[key], b))), "")
    if expected is None or isinstance(expected, str):
        return "" if type(yours) is type(expected) and yours == expected else f"{expected!r} expected"
    return unlike_numbers(yours, expected)


def unlike_numbers(yours, expected):
    try:
        yours, expected = np.asarray(yours), np.asarray(expected)
        if yours.shape != expected.shape or yours.dtype.kind not in "fiub":
            return f"shape {yours.shape}, dtype {yours.dtype}, {expected.shape} expected"
        size = np.abs(expected).max(initial=0, where=np.isfinite(expected)) or 1
        with np.errstate(invalid="ignore"):          # an infinity less another one
            close = np.abs(np.subtract(yours, expected, dtype=float)) <= PRECISION * size
        alike = close | (yours == expected) | ((yours != yours) & (expected != expected))
        return "" if bool(alike.all()) else "other numbers"
    except (TypeError, ValueError) as error:
        return str(error)


def compared(lesson, texts, calls=CALLS, seconds=SECONDS):
    """({name: how it differs}, {function: calls})   texts: {name: (the text of a survivor, the changed function)}

    After so many seconds it ends with fewer calls.
    """
    (source,) = [source for source in sources() if source.lesson.name == lesson]
    lesson = source.lesson
    with tempfile.TemporaryDirectory() as folder:
        hosts = {}
        for number, (name, (text, changed)) in enumerate({None: (source.solution(), ""), **texts}.items()):
            path = Path(folder) / str(number) / f"{source.path.stem}.py"
            path.parent.mkdir()
            path.write_text(text, encoding="utf-8")
            hosts[name] = Here(files.run(path, lesson.withheld)[0], path, () if name else lesson.withheld), changed
        twins = Twins(hosts.pop(None)[0], hosts, source.solution(), calls)
        term, end = 0, time.monotonic() + seconds
        while twins.busy and time.monotonic() < end:
            mark(lesson, twins, f"twins {term}")
            twins.kept.clear()
            term += 1
    return twins.different, dict(twins.made_of)
