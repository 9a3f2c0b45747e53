"""What a submission may import of ours: what its exercise's file imports, and nothing else that computes.

The process imports those modules and no others; of what came along with them, every function that they do not need is
replaced for good, the exercise's answers always. The code of none is kept. Other modules of ours can be imported, for a
line at the top of a right answer must cost nothing; what is taken from them says, when it is called, that it is not
there.
"""

import gc
import importlib.machinery
import sys
import types

from ..withholding import refusing

HARMLESS = {"minalbert.config": ("AlbertConfig", "PRESETS")}
OURS = ("minalbert.", "minalbert_course.block", "minalbert_course.makers.")
OPEN = ("minalbert", "minalbert_course")


def offer(imports, withheld, stars):
    """Called once, before anybody's code runs.

    imports    {module: names}, which stay
    withheld   [(module, qualified name)], the answers
    stars      {module: names of answers that it has}, for those that are asked for everything
    """
    kept = [vars(importlib.import_module("minalbert"))["__getattr__"]]
    makers = {name: () for name in sys.modules if name.startswith("minalbert_course.makers.")}
    for module, names in [*HARMLESS.items(), *imports.items(), *makers.items()]:
        found = importlib.import_module(module)
        kept += [getattr(found, name) for name in names or vars(found)]
    answers = [found for module, name in withheld if (found := within(module, name)) is not None]
    for answer in answers:
        replace(answer, True)
    needed = reached(kept)                           # and not what an answer alone needs
    for function in functions():
        if function not in answers and id(function) not in needed:
            replace(function, False)
    told = {f"{module}.{name}" for module, names in stars.items() for name in names}
    sys.meta_path.insert(0, EmptyModules(stars, told))
    sys.modules["minalbert_course"].check = lambda exercise, namespace, term=None: None     # the last line of each file


def within(module, name):
    """A function by its qualified name, if its module is there."""
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def functions():
    return [thing for thing in gc.get_objects() if type(thing) is types.FunctionType and is_library(thing)]


def is_library(function):
    return str(function.__globals__.get("__name__")).startswith(OURS)


def replace(function, answer):
    why = "is the answer to this exercise" if answer else "is not there while this exercise is marked"
    code = refusing(function, why)
    function.__code__ = code.replace(co_freevars=function.__code__.co_freevars)
    function.__defaults__ = function.__kwdefaults__ = None


def reached(roots):
    """{id: thing} of all that calling or reading these may use."""
    seen, waiting = {}, list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, types.ModuleType | types.FrameType | str | bytes):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, types.FunctionType):
            waiting += used(thing)
        elif isinstance(thing, type):
            waiting += [*vars(thing).values(), *thing.__bases__] if thing.__module__.startswith(OURS) else ()
        else:
            waiting += gc.get_referents(thing)
    return seen


def used(function):
    """What a function names of its module's, and of modules that these name; its defaults, cells and decorated self."""
    names, codes = set(), [function.__code__]
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    own = function.__globals__ if is_library(function) else {}
    here = [own[name] for name in names if name in own]
    modules = [thing for thing in here if isinstance(thing, types.ModuleType) and thing.__name__.startswith(OURS)]
    there = [vars(module)[name] for module in modules for name in names if name in vars(module)]
    cells = [cell.cell_contents for cell in function.__closure__ or () if not empty(cell)]
    return [*here, *there, *cells, function.__defaults__, function.__kwdefaults__, vars(function)]


def empty(cell):
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


class EmptyModules:
    """Finds every other module of ours, empty."""

    def __init__(self, stars, answers):
        self.stars, self.answers = stars, answers

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in OPEN:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.__all__ = self.stars.get(module.__name__, [])
        answers, place = self.answers, module.__name__

        def __getattr__(name):
            if name.startswith("__"):
                raise AttributeError(f"module {place!r} has no attribute {name!r}")
            return Absent(place, name, f"{place}.{name}" in answers)

        module.__getattr__ = __getattr__


class Absent:
    """In the place of a function or class: importing it costs nothing, calling it is refused."""

    def __init__(self, module, name, answer):
        self.__module__, self.__name__, self.__qualname__ = module, name, name
        self._why = "is the answer to this exercise" if answer else "is not there while this exercise is marked"

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"the library's {self.__name__} {self._why}; write your own")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"{self.__name__} has no {name}")
        return Absent(self.__module__, f"{self.__name__}.{name}", self._why.startswith("is the answer"))
