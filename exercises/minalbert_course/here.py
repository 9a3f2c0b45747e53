"""A student's code in this process: how they check it themselves."""

import contextlib
import functools
import inspect
import os
import traceback
import warnings
from pathlib import Path

from .copying import changed, copied, copies, kept
from .drawn import ONE, drawn
from .given import Given
from .shared_memory import EARLIER, GIVEN, changeable_in, handed_back, shared
from .unfilled import marked_memory
from .values import CacheOf, NotWritten, Opaque, Stopped
from .withholding import is_ours, withholding


class Here:
    """namespace: what running the student's file left behind; path: that file, for line numbers
    own_results: functions whose results may share no memory with others; by default all
    stateless: is it known that they keep nothing from call to call? See `state.stateless`
    """

    def __init__(self, namespace, path="", withheld=(), own_results=None, stateless=False):
        self.namespace, self.path, self.withheld, self.own_results = namespace, str(path), withheld, own_results
        self.stateless = stateless
        self.last = {}                               # function -> what it was given and returned last, without caches

    def calls(self, name, many, opaque):
        """`call` for each of many (args, static), of which none needs what another returns."""
        if quick := drawn(many, opaque):
            return self.calls_of_generators(name, quick)
        return self.each_call(name, many, opaque)

    def each_call(self, name, many, opaque):
        return (self.call(name, args, static, opaque) for args, static in many)

    def calls_of_generators(self, name, quick):
        """`call` with each seed of a `Seeded`"""
        first, *others = quick.seeds
        yield self.call_alone(name, quick.with_seed(first))
        function = self.function(name)
        names, before = names_of(function, quick.args, {}), copied(quick.args)
        for seed in others:
            lists = set()
            args = copies(quick.with_seed(seed), lists)
            result = self.result_of(name, function, args, {})
            of_each = enumerate(zip(names, before, args, strict=True))
            wrote = [argument(key) for i, (key, old, new) in of_each if i != quick.place and changed(old, new)]
            is_given = not lists.isdisjoint(map(id, changeable_in(result)))
            yield kept(result, []), wrote + ([GIVEN] if is_given else [])

    def call_alone(self, name, args):
        return self.call(name, args, {}, [])

    def in_turn(self, steps):
        """What `call` returns for each step of a sequence, or the error that it raises."""
        answers = []
        for name, args, static, opaque in steps:
            try:
                args = tuple(answered(answers, arg) if isinstance(arg, CacheOf) else arg for arg in args)
                answers.append(self.call(name, args, static, opaque))
            except (NotWritten, Stopped) as error:
                answers.append(error)
            yield answers[-1]

    def call(self, name, args, static, opaque):
        function = self.function(name)
        names, sent = names_of(function, args, static), (*args, *static.values())
        args, static = self.handed_over(args, static)
        values = *args, *static.values()
        given = {key: value for key, value, was in zip(names, values, sent, strict=True) if not isinstance(was, Opaque)}
        earlier = self.of_earlier_calls(name, any(map(is_shared, sent)))
        arguments_before, earlier_before = self.arguments_before(given, names, sent), copied(earlier)
        result = self.result_of(name, function, args, static)
        results = result if isinstance(result, tuple | list) else [result]
        returned = [part for i, part in enumerate(results) if i not in opaque] if opaque else results
        self.last[name] = given, returned
        wrote = [argument(key) for key in self.changed_arguments(arguments_before, given, values)]
        wrote += [what for what, old in earlier_before.items() if changed(old, earlier[what])]
        if self.own_results is None or name in self.own_results:
            wrote += shared(returned, {argument(key): given[key] for key in given} | earlier)
        wrote += handed_back(returned, given, earlier.get(EARLIER, ()))
        return kept(result, opaque), wrote

    def function(self, name):
        """The student's own"""
        function = self.namespace.get(name)
        if not callable(function):
            raise NotWritten(f"{name} is not there")
        if is_ours(function):
            raise Stopped(f"{name} is the library's own, which is the answer to this exercise; write your own")
        return function

    def result_of(self, name, function, args, static):
        """What the function returns, or an error in its own words"""
        folder = os.getcwd()
        try:
            with self.around_a_call():
                result = function(*args, **static)
        except NotImplementedError as error:
            raise NotWritten(f"{name} is not written yet") from error
        except Exception as error:
            raise Stopped(last_line(name, error, self.path)) from error
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(last_line(name, error, self.path)) from None
        except SystemExit as error:
            raise Stopped(f"{name} called sys.exit, which ends the program; return, or raise an error") from error
        finally:
            if moved := os.getcwd() != folder:
                os.chdir(folder)
        if moved:
            raise Stopped(f"{name} called os.chdir, which moves the whole program; join the folder and the file's name")
        return result

    @contextlib.contextmanager
    def around_a_call(self):
        with withholding(self.withheld), warnings.catch_warnings(action="ignore"), marked_memory():
            yield

    def handed_over(self, args, static):
        """The arguments as the function gets them."""
        return copies(args), copies(static)

    def arguments_before(self, given, names, sent):
        """What `changed_arguments` compares with after the call. given: {name: value}, without caches, as the function
        gets them; sent: what was sent for each of the names."""
        return copied(given)

    def changed_arguments(self, before, given, values):
        """The names of those that were written into. values: all arguments, caches too, in their order"""
        return [key for key, old in before.items() if changed(old, given[key])]

    def of_earlier_calls(self, name, has_shared):
        """Arrays that a call must leave alone, in words: those of forward can be reached through a cache.

        has_shared: is an argument one that other calls may have had? What keeps nothing knows their results but so.
        """
        found, forward = {}, name.replace("_backward", "_forward")
        if name in self.last and (has_shared or not self.stateless):
            found[EARLIER] = self.last[name][1]
        if forward != name and forward in self.last:
            given, returned = self.last[forward]
            found |= {f"{key}, an argument of {forward}": value for key, value in given.items()}
            found[f"what {forward} had returned"] = returned
        return found


def answered(answers, cache):
    """The cache that an earlier step of a sequence returned."""
    try:
        return answers[cache.step][0][cache.part]
    except (TypeError, IndexError):                  # it stopped, or returned something else
        raise Stopped("the call that makes its cache did not return one") from None


def is_shared(value):
    """Is it a cache, a model or the like, as calls before may have had it?"""
    return isinstance(value, Opaque) or (isinstance(value, Given) and value.kind != ONE)


def argument(key):
    return f"its argument {key}"


def names_of(function, args, static):
    """The name of each argument, first of those that are passed by their places."""
    try:
        names = parameters(function)[: len(args)]
    except (TypeError, ValueError):
        names = []
    return [*names, *(f"number {i + 1}" for i in range(len(names), len(args))), *static]


@functools.lru_cache(maxsize=64)
def parameters(function):
    return list(inspect.signature(function).parameters)


def last_line(what, error, path):
    """Where in the student's file it stopped, and why."""
    reason = " ".join(str(error).split())[:300]
    return f"{what} stopped{place_of(error, path)}: {kind_of(error)}: {reason}"


def place_of(error, path):
    """At which line of the student's file an error was raised, in words; "" if nobody can say."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if path and frame.filename == path]
    return f" at line {frames[-1].lineno} of {Path(path).name}" if frames else ""


def kind_of(error):
    """The error's class; of a class of somebody's own also Python's, from which it is derived."""
    own, python = type(error), next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    return own.__name__ if own is python else f"{own.__name__} (a {python.__name__})"
