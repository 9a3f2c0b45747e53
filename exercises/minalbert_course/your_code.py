"""Your functions in the real model, in place of the library's.

    with your_code("ex05_attention.py") as yours:    # a file, a notebook, a folder of them, or a dict of functions
        model = Albert.init(PRESETS["tiny"])
        losses, grads = model.loss_and_grads(batch)
    print(yours)                                     # attention (ex05_attention.py)

A pair is known by its names, attention_forward and attention_backward; `PAIRS` lists those that the model has. Each is
first put through the gradient check; a `lamb_step` has no gradient, and is taken as it is. The model then runs by its
plain pairs, not by the kernels, which know no functions but their own. Results are copied, and cast to the input's
dtype, before the model goes on with them.
"""

import contextlib
import dataclasses
import hashlib
import inspect
import shutil
import weakref
from pathlib import Path

import numpy as np

from minalbert import layers
from minalbert.albert import Albert
from minalbert.errors import ConfigError
from minalbert.fast.crew import Crew
from minalbert.fast.plain import PlainEngine
from minalbert.fast.precision import engine_for
from minalbert.gradcheck.cases import model_cases, pair_cases
from minalbert.model import encoder
from minalbert.model.gradients import add_to
from minalbert.optim.blocks import exempt
from minalbert.params import ATTENTION, FFN, NORM

from .catalogue import find
from .errors import CourseError
from .files import run as run_file
from .replaced import replaced

PAIRS = ("linear", "embedding", "layer_norm", "tanh", "gelu", "gelu_erf", "attention", "gather", "decoder",
         "cross_entropy", "encoder")  # fmt: skip
WEIGHTS = tuple(f"{part}.{name}" for part, names in (("attention", ATTENTION + NORM), ("ffn", FFN + NORM))
                for name in names)  # fmt: skip
OPTIMISER = "lamb_step"


class YourCode:
    """What was found: function by name, and the files they came from."""

    def __init__(self, functions, files=()):
        self.functions, self.files = functions, [Path(path) for path in files]
        self.pairs = [name for name in PAIRS if f"{name}_forward" in functions]
        for name in self.pairs:
            if f"{name}_backward" not in functions:
                raise ConfigError(f"{name}_forward is there without {name}_backward: a model needs both")
        if not self.pairs and OPTIMISER not in functions:
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
            unwritten += [name for name, value in there.items() if callable(value) and name not in found]
            if remark and not found:
                raise ConfigError(remark)
            functions |= found
            files += [path] if found else []
        if unwritten and not functions:
            raise ConfigError(f"{', '.join(unwritten)} of {', '.join(map(str, looked_into))}: not written yet")
        return cls(functions, files or looked_into)

    def __str__(self):
        names = [*self.pairs, *([OPTIMISER] if OPTIMISER in self.functions else [])]
        where = f" ({', '.join(path.name for path in self.files)})" if self.files else ""
        return f"{', '.join(names)}{where}"

    @property
    def circumstances(self):
        """For a checkpoint: whose code, and which version of it."""
        return {"your code": f"{self}, sha256 {self.digest}"}

    @property
    def digest(self):
        return hashlib.sha256(b"".join(path.read_bytes() for path in self.files)).hexdigest()[:12]

    def keep(self, folder):
        """Copies beside what was trained with them, a folder for each version."""
        folder = folder / self.digest
        folder.mkdir(parents=True, exist_ok=True)
        for number, path in enumerate(self.files):
            name = f"{number}_{path.name}" if [other.name for other in self.files].count(path.name) > 1 else path.name
            shutil.copyfile(path, folder / name)

    def optimiser(self, settings):
        """Of LAMB's settings: yours, if there is one."""
        return YourLamb(self.functions[OPTIMISER], settings) if OPTIMISER in self.functions else None

    def replacements(self):
        """{the library's own function: yours}"""
        found = {}
        for name in self.pairs:
            forward, backward = (self.functions[f"{name}_{way}"] for way in ("forward", "backward"))
            module = encoder if name == "encoder" else layers
            ours = [getattr(module, f"{name}_{way}") for way in ("forward", "backward")]
            found |= dict(zip(ours, ADAPTERS.get(name, plain_pair)(forward, backward), strict=True))
        return found

    def check(self):
        """Raise one sentence and the report for a pair that is not the derivative of its forward pass."""
        found = self.replacements()
        for case in pair_cases():
            if case.forward in found and not case.static.get("rate"):
                case = dataclasses.replace(case, forward=found[case.forward], backward=found[case.backward])
                refuse(case, entries=False)
        if "encoder" in self.pairs:
            with in_place(found):
                refuse(model_cases()[0], entries=False)


def refuse(case, entries):
    try:
        report = case.check(entries)
    except Exception as error:
        raise ConfigError(f"your {case.name} cannot be checked: {type(error).__name__}: {error}") from error
    if not report.passed:
        raise ConfigError(f"your {case.name} is not put into the model, for its gradient is wrong\n{report.explain()}")


WANTED = {f"{name}_{way}" for name in PAIRS for way in ("forward", "backward")} | {OPTIMISER}


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
    """Replace functions, and have every model run by the plain pairs, those made before as well."""
    usual, crews = Albert.__dict__["_crew"], weakref.WeakKeyDictionary()
    Albert._crew = property(lambda model: crews.get(model) or crews.setdefault(model, Crew(model)))
    try:
        with replaced(functions | {engine_for: lambda config, params, how=None: PlainEngine(config, params)}):
            yield
    finally:
        Albert._crew = usual


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
    if not callable(value) or str(getattr(value, "__module__", "")).startswith(("minalbert.", "minalbert_course.")):
        return False
    constants = getattr(getattr(value, "__code__", None), "co_consts", ())
    return not any(isinstance(text, str) and text.endswith("not written yet") for text in constants)


def of_other_models(path):
    """Of a variant of an exercise: functions with the base's names that ask for something else."""
    try:
        variant = find(path.stem).variant_of
    except CourseError:
        return set()
    return {"encoder_forward", "encoder_backward", OPTIMISER} if variant else set()


# Adapters: what the model calls, in terms of what an exercise asks for.


def plain_pair(forward, backward):
    def yours_forward(*args, **static):
        y, cache = forward(*args, **static)
        return like(args, y), cache

    def yours_backward(dy, cache):
        gradients = backward(dy, cache)
        gradients = gradients if isinstance(gradients, tuple | list) else (gradients,)
        return tuple(like((dy,), gradient) for gradient in gradients)

    return yours_forward, yours_backward


def attention_pair(forward, backward):
    return plain_pair(lambda *args, **off: forward(*fewer(forward, args)), backward)


def fewer(function, args):
    """Without the rate and the coins of dropout, where the function takes none and they are off."""
    parameters = inspect.signature(function).parameters.values()
    takes = len(parameters)
    if takes >= len(args) or any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return args
    rate, stream = args[-2:]
    if rate and stream is not None:
        raise ConfigError(
            f"your {function.__name__} takes {takes} arguments and throws no coins, but this model's dropout is "
            f"{rate:g}; set it to 0 (--attention-probs-dropout-prob 0)"
        )
    return args[:takes]


def like(args, value):
    """A copy of a result, real numbers in the dtype of the arguments', for the model adds into it."""
    if not hasattr(value, "dtype"):
        return value
    dtype = next(x.dtype for x in args if hasattr(x, "dtype") and x.dtype.kind in "fc")
    return value.astype(value.dtype if value.dtype.kind == "c" or dtype.kind == "c" else dtype)


def cross_entropy_pair(forward, backward):
    """The model also divides by the sum over a larger batch, which an exercise knows nothing of."""

    def yours_forward(logits, labels, weights, total=None):
        loss, cache = forward(logits, labels, weights)
        share = 1.0 if total is None else float(weights.sum()) / float(total)
        return like((logits,), np.asarray(loss) * share), (cache, share)

    def yours_backward(dloss, cache):
        cache, share = cache
        dlogits, *_ = backward(dloss * share, cache)
        return dlogits.copy(), None, None

    return yours_forward, yours_backward


def encoder_pair(forward, backward):
    """One set of weights as a dict, no dropout."""

    def yours_forward(x, context, recompute=False):
        config = context.config
        if config.sharing != "all" or config.num_hidden_groups != 1:
            raise ConfigError("your encoder_forward applies one set of weights; this model has more (sharing, groups)")
        if context.stream and (config.hidden_dropout_prob or config.attention_probs_dropout_prob):
            raise ConfigError("your encoder_forward throws no coins, but this model has dropout; set both rates to 0")
        weights = {name: context.params[f"encoder.{name}"] for name in WEIGHTS}
        y, cache = forward(
            x, weights, context.mask, config.num_attention_heads, config.layer_norm_eps, config.num_hidden_layers
        )
        return like((x,), y), cache

    def yours_backward(dy, cache, grads):
        dx, dweights = backward(dy, cache)
        add_to(grads, "encoder", WEIGHTS, [dweights[name] for name in WEIGHTS])
        return like((dy,), dx)

    return yours_forward, yours_backward


ADAPTERS = {"attention": attention_pair, "cross_entropy": cross_entropy_pair, "encoder": encoder_pair}


class YourLamb:
    """The optimiser that calls your lamb_step for each tensor."""

    def __init__(self, step, settings):
        self.one, self.how = step, (settings.betas, settings.eps, settings.weight_decay)

    def step(self, params, grads, moments, rate, t, scale=1.0):
        ratios = {}
        for name, w in params.items():
            m, v = moments.m[name], moments.v[name]
            given = [w.copy(), grads[name] * np.asarray(scale, w.dtype), m.copy(), v.copy()]
            w[...], m[...], v[...], ratio = self.one(*given, rate, t, *self.how)
            if not exempt(name, w):
                ratios[name] = ratio
        return ratios

