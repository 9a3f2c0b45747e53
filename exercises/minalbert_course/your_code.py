"""Your functions in the real model, in place of the library's.

    with your_code("ex05_attention.py") as yours:    # a file, a notebook, a folder of them, or a dict of functions
        model = Albert.init(PRESETS["tiny"])
        losses, grads = model.loss_and_grads(batch)
    print(yours)                                     # attention (ex05_attention.py)

A pair is known by its names, attention_forward and attention_backward; `PAIRS` lists those that the model has. Each
must first pass the gradient check; a `lamb_step` has no gradient and is not checked. Then, until the `with` ends, the
modules in `PLACES` have your functions under the names of the library's. Models compute with them if their kernels are
"plain", which is the default: the other kernels are written without these functions.
"""

import contextlib
import dataclasses
import hashlib
import shutil
from pathlib import Path

from minalbert import albert, encoding, layers, model
from minalbert.errors import ConfigError
from minalbert.gradcheck.cases import model_cases, pair_cases
from minalbert.optim.blocks import exempt

from .adapters import adapted
from .catalogue import find
from .errors import CourseError
from .files import run as run_file
from .withholding import is_ours

PAIRS = ("linear", "embedding", "layer_norm", "tanh", "gelu", "gelu_erf", "attention", "gather", "decoder",
         "cross_entropy", "encoder")  # fmt: skip
OPTIMISER = "lamb_step"
WANTED = {f"{name}_{way}" for name in PAIRS for way in ("forward", "backward")} | {OPTIMISER}

# The modules whose names are replaced: where the model calls the functions above.
PLACES = (layers.attention, layers.sparse_attention, model.embeddings, model.block, model.reversible, model.heads,
          model.pretraining, model.tasks, model.answer, encoding, albert)  # fmt: skip


@contextlib.contextmanager
def your_code(source, check=True):
    """source: a path, several, or a dict of functions by name (in a notebook: globals())."""
    if isinstance(source, dict):
        yours = YourCode({name: value for name, value in source.items() if name in WANTED and written(value)})
    else:
        yours = YourCode.read([source] if isinstance(source, str | Path) else source)
    if check:
        yours.check()
    with in_place(yours.replacements()):
        yield yours


@contextlib.contextmanager
def in_place(functions):
    """Put functions in the places of the library's with the same names. functions: {name: function}"""
    places = [(vars(place), name) for place in PLACES for name in functions if name in vars(place)]
    library = [names[name] for names, name in places]
    for names, name in places:
        names[name] = functions[name]
    try:
        yield
    finally:
        for (names, name), function in zip(places, library, strict=True):
            names[name] = function


def states_of(encoder_forward):
    """encoder_states for an encoder of yours: the model sees its input and its output."""

    def encoder_states(x, ctx, positions=None):
        yield x
        yield encoder_forward(x, ctx, positions=positions)[0]

    return encoder_states


class YourCode:
    """The functions that were found, by name, and the files they came from."""

    pairs = model.PLAIN                              # which call whatever stands in PLACES

    def __init__(self, functions, files=()):
        self.functions, self.files = functions, [Path(path) for path in files]
        self.names = [name for name in PAIRS if f"{name}_forward" in functions]
        for name in self.names:
            if f"{name}_backward" not in functions:
                raise ConfigError(f"{name}_forward is there without {name}_backward: a model needs both")
        if not self.names and OPTIMISER not in functions:
            raise ConfigError(
                f"no function in {', '.join(map(str, files)) or 'what was given'} has a place in the model; such are "
                f"NAME_forward with NAME_backward, for {', '.join(PAIRS)}, and {OPTIMISER}"
            )

    @classmethod
    def read(cls, paths):
        """Run files, or all exercises' files of folders; a function that is not written yet is left out."""
        functions, files, looked_into, unwritten = {}, [], list(expanded(paths)), []
        for path in looked_into:
            namespace, remark = run_file(path)
            there = {name: value for name, value in namespace.items() if name in WANTED - of_other_models(path)}
            found = {name: value for name, value in there.items() if written(value)}
            unwritten += [name for name, value in there.items()
                          if callable(value) and name not in found and not is_ours(value)]  # fmt: skip
            if remark and not found:
                raise ConfigError(remark)
            functions |= found
            files += [path] if found else []
        if unwritten and not functions:
            raise ConfigError(f"{', '.join(unwritten)} of {', '.join(map(str, looked_into))}: not written yet")
        return cls(functions, files or looked_into)

    def __str__(self):
        names = [*self.names, *([OPTIMISER] if OPTIMISER in self.functions else [])]
        where = f" ({', '.join(path.name for path in self.files)})" if self.files else ""
        return f"{', '.join(names)}{where}"

    @property
    def facts(self):
        """What a run notes beside its checkpoints: whose code, and which version of it."""
        return {"your code": f"{self}, sha256 {self.digest}"}

    @property
    def digest(self):
        return hashlib.sha256(b"".join(path.read_bytes() for path in self.files)).hexdigest()[:12]

    def keep(self, folder):
        """Copy the files into the folder, beside what was trained with them: a folder for each version."""
        folder = folder / self.digest
        folder.mkdir(parents=True, exist_ok=True)
        for number, path in enumerate(self.files):
            name = f"{number}_{path.name}" if [other.name for other in self.files].count(path.name) > 1 else path.name
            shutil.copyfile(path, folder / name)

    def optimiser(self, lamb):
        """An optimiser that makes your steps with the settings of a `Lamb`, or None if you wrote none."""
        return YourLamb(self.functions[OPTIMISER], lamb) if OPTIMISER in self.functions else None

    def replacements(self):
        """{name: your function, as the model calls it}"""
        found = {}
        for name in self.names:
            keys = f"{name}_forward", f"{name}_backward"
            found |= dict(zip(keys, adapted(name, *(self.functions[key] for key in keys)), strict=True))
        if "encoder" in self.names:
            found["encoder_states"] = states_of(found["encoder_forward"])
        return found

    def check(self):
        """Raise one sentence and the report if a backward function is not the derivative of its forward function."""
        yours = self.replacements()
        library = {getattr(layers, name): name for name in yours if hasattr(layers, name)}
        for case in pair_cases():
            if case.forward in library and not case.static.get("rate"):
                forward, backward = yours[library[case.forward]], yours[library[case.backward]]
                refuse_wrong(dataclasses.replace(case, forward=forward, backward=backward))
        if "encoder" in self.names:
            with in_place(yours):
                refuse_wrong(model_cases()[0])


def refuse_wrong(case):
    try:
        report = case.check(entries=False)
    except Exception as error:
        raise ConfigError(f"your {case.name} cannot be checked: {type(error).__name__}: {error}") from error
    if not report.passed:
        raise ConfigError(f"your {case.name} is not put into the model: its gradient is wrong\n{report.explain()}")


def expanded(paths):
    for path in map(Path, paths):
        if not path.exists():
            raise ConfigError(f"{path} is not there; name a file with your functions, or a folder of exercises")
        if not path.is_dir():
            yield path
            continue
        inside = sorted(file for file in path.glob("ex*_*") if file.suffix in (".py", ".ipynb"))
        if not inside:
            raise CourseError(f"{path} has no file of an exercise, such as ex05_attention.py")
        yield from inside


def written(value):
    """Somebody's own, and more than an exercise's stub."""
    if not callable(value) or is_ours(value):
        return False
    constants = getattr(getattr(value, "__code__", None), "co_consts", ())
    return not any(isinstance(text, str) and text.endswith("not written yet") for text in constants)


def of_other_models(path):
    """Functions that a variant of an exercise gives another meaning than the model does."""
    try:
        variant = find(path.stem).variant_of
    except CourseError:
        return set()
    return {"encoder_forward", "encoder_backward", OPTIMISER} if variant else set()


class YourLamb:
    """The optimiser that calls your lamb_step for each tensor."""

    def __init__(self, step, lamb):
        self.one, self.settings = step, (lamb.betas, lamb.eps, lamb.weight_decay)

    def step(self, params, grads, moments, rate, t, scale=1.0, only=None):
        ratios = {}
        for name in params if only is None else only:
            w, m, v = params[name], moments.m[name], moments.v[name]
            given = [w.copy(), grads[name] * w.dtype.type(scale), m.copy(), v.copy()]
            w[...], m[...], v[...], ratio = self.one(*given, rate, t, *self.settings)
            if not exempt(name, w):
                ratios[name] = ratio
        return ratios
