"""Bad Python calls, made of the public functions' own signatures: `python tests/bad_calls.py [--count N] [--seed S]`

A call is a good one in which one argument is replaced by what it cannot be: of a wrong type, shape or range, or not a
number. It must end in a MinalbertError of one sentence. `Public` finds the functions: those that docs/api.md lists.
What a parameter is, its name says, in KINDS; a new public parameter without a kind is an error here.
"""

import argparse
import dataclasses
import inspect
import os
import random
import re
import signal
import sys
import tempfile
import typing
import warnings
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minalbert
from minalbert import PRESETS, Albert, Batch, DropoutKey, Totals, analysis, data, gradcheck, optim, plots, tasks, train
from minalbert.analysis import smoothness
from minalbert.errors import MinalbertError
from minalbert.layers import gelu_backward, gelu_forward
from minalbert.model import PLAIN
from minalbert.parallel import ALONE
from minalbert.train.settings import Settings

PAGE = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
NAN, INF, HUGE = float("nan"), float("inf"), 10**30
LONGEST = 500  # letters of a sentence
SECONDS = 5  # of a call


class Odd:
    """Something that is of no use anywhere."""

    def __repr__(self):
        return "<odd>"


# What each kind of argument cannot be. Where None is the default, None is left out.
WRONG = {
    "end of a sentence": [],  # a caller of ours gives it
    "whole": [None, "3", "", 1.5, NAN, INF, -1, HUGE, [], [3], b"3", Odd(), True],
    "number": [None, "3", "", NAN, INF, -INF, [], [3.0], 1j, Odd(), True, HUGE**20],
    "positive": [None, "3", "", NAN, INF, -1.0, [], [3.0], 1j, Odd(), True, HUGE**20],
    "share": [None, "3", "", NAN, INF, -0.5, 2, [], 1j, Odd()],
    "flag": [None, "no", 2, [], NAN, Odd()],
    "text": [None, 3, b"text", ["text"], Odd(), NAN],
    "path": [None, "", 3, b"", [], Odd(), "a\0b", "no/such/thing", NAN],
    "new path": [None, "", 3, [], Odd(), "a\0b", NAN],
    "choice": [None, "nonsense", "", 3, [], ["plain"], Odd(), NAN],
    "object": [None, 3, "text", [], {}, Odd(), NAN, np.zeros(3)],
    "array": [None, 3, "text", [], {}, Odd(), np.zeros((1, 1, 1, 1, 1)), np.array(["a"]), np.zeros(0), np.array(None)],
    "ids": [None, 3, "text", [[]], [["a"]], [[1.5]], [[-1]], [[HUGE]], [[1], [1, 2]], np.zeros((2, 2, 2), int), Odd()],
    "lists of ids": [None, 3, "text", [[]], [["a"]], [[1.5]], [[-1]], [[HUGE]], np.zeros((2, 2, 2), int), Odd(), NAN],
    "list": [None, 3, NAN, Odd(), [None], [Odd()], [3.5]],
    "mapping": [None, 3, "text", NAN, Odd(), [Odd()]],
    "depth": [None, "3", "", 1.5, NAN, -1, HUGE, [], [3], Odd()],
    "table": [None, 3, "text", NAN, Odd(), {"a": Odd()}, [Odd()]],
    "function": [None, 3, "text", Odd()],
}


class World:
    """Good values, made when they are first asked for."""

    def __init__(self, folder):
        self.folder = folder

    config = PRESETS["tiny"].replace(
        vocab_size=600, embedding_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=24,
    )  # fmt: skip

    @cached_property
    def worlds(self):
        return data.TinyWorlds(seed=1)

    @cached_property
    def tokenizer(self):
        return data.WordTokenizer(self.worlds.words())

    @cached_property
    def corpus(self):
        return data.Corpus.from_documents(self.worlds.documents(0, 60), self.tokenizer)

    @cached_property
    def directory(self):
        """The directory of a corpus."""
        sources = data.story_sources(self.worlds, 60)
        data.build_corpus(sources, self.tokenizer, self.folder / "corpus")
        return self.folder / "corpus"

    @cached_property
    def recipe(self):
        return data.Recipe(max_length=24, max_predictions=4)

    @cached_property
    def instances(self):
        return data.Instances(self.corpus, self.tokenizer, self.recipe)

    @cached_property
    def model(self):
        return Albert.init(self.config.replace(vocab_size=self.tokenizer.vocab_size))

    @cached_property
    def batch(self):
        return Batch.random(self.model.config, 3, 12, 2)

    @cached_property
    def params(self):
        return self.model.params

    @cached_property
    def grads(self):
        return self.model.loss_and_grads(self.batch)[1]

    @cached_property
    def settings(self):
        return train.Settings().change(
            max_position_embeddings=24, max_length=24, hidden_size=16, num_attention_heads=2, embedding_size=8,
            intermediate_size=32, num_hidden_layers=2, steps=2, batch=4, micro_batch=4, workers=1,
            evaluate_instances=8, held_out_share=0.2, corpus=str(self.directory),
        )  # fmt: skip

    @cached_property
    def run(self):
        train.pretrain(self.settings, self.folder / "run")
        return self.folder / "run"

    @cached_property
    def saved(self):
        self.model.save_pretrained(self.folder / "model")
        return self.folder / "model"

    @cached_property
    def text(self):
        path = self.folder / "text.txt"
        path.write_text("one two three .\nfour five .\n\nsix .\n" * 20)
        return path

    @cached_property
    def word_list(self):
        self.tokenizer.save(self.folder / "words.json")
        return self.folder / "words.json"

    @cached_property
    def task(self):
        """The directory of a task: is the text one word?"""
        (self.folder / "task").mkdir()
        for split in ("train", "dev"):
            (self.folder / "task" / f"{split}.tsv").write_text("sentence\tlabel\n" + "a\tyes\na b\tno\n" * 8)
        return self.folder / "task"

    @cached_property
    def task_settings(self):
        return tasks.TaskSettings().change(task="custom", data=str(self.task), weights=str(self.run), steps=1)

    @cached_property
    def finetuned(self):
        """A model of fresh weights that is one for sst2."""
        task = tasks.open_task("sst2", max_length=24)
        self.model.with_heads(("pooler", "classifier")).save_pretrained(self.folder / "finetuned", self.tokenizer)
        tasks.save_facts(self.folder / "finetuned", task)
        return self.folder / "finetuned"

    @cached_property
    def answering(self):
        """One for squad1."""
        task = tasks.open_task("squad1", max_length=24)
        self.model.with_heads(("span",)).save_pretrained(self.folder / "answering", self.tokenizer)
        tasks.save_facts(self.folder / "answering", task)
        return self.folder / "answering"

    @cached_property
    def rows(self):
        path = self.folder / "rows.tsv"
        path.write_text("index\tsentence\n0\ta b\n1\tc\n")
        return path

    @cached_property
    def pairs(self):
        path = self.folder / "pairs.tsv"
        path.write_text("phenomenon\tsentence1\tsentence2\tlabel\norder\ta b\tb a\tfirst\n")
        return path

    @cached_property
    def filled(self):
        return train.fill(self.model, self.tokenizer, "the [MASK] .", top=2)

    @cached_property
    def moments(self):
        return optim.Moments.zeros(self.params)

    @cached_property
    def hidden(self):
        return self.model.encode(self.batch.input_ids)[0]

    @cached_property
    def pooled(self):
        return self.model.encode(self.batch.input_ids)[1]

    def encoding(self):
        return self.model.forward(self.batch.input_ids)


class Argument:
    """A good value, and the kind of it, which says what it cannot be."""

    def __init__(self, kind, good, besides=(), optional=False):
        self.kind, self.good, self.besides, self.optional = kind, good, besides, optional

    def wrong(self, default):
        values = [*WRONG[self.kind], *self.besides]
        return [value for value in values if not (value is None and (default is None or self.optional))]


def whole(good, *besides):
    return Argument("whole", lambda world: good, besides)


def choice(good, *besides):
    return Argument("choice", lambda world: good, besides)


def thing(name, kind="object", *besides):
    return Argument(kind, lambda world: getattr(world, name), besides)


def value(good, kind, *besides):
    return Argument(kind, lambda world: good, besides)


FLAG = value(True, "flag")
SHARE = value(0.1, "share")
IDS = Argument("ids", lambda world: world.batch.input_ids)
SIZE = whole(2, 0)
PLACES = value([[1, 2]] * 3, "ids", [[99]] * 3)
FUNCTION = value(print, "function")

KINDS = {
    # The model
    "config": thing("config"), "params": thing("params"), "model": thing("model"), "batch": thing("batch"),
    "kernels": choice("plain"), "precision": choice("full"), "pairs": value(PLAIN, "object"),
    "seed": whole(0, 2**64), "heads": value(("pooler", "mlm", "sop"), "list", "pooler", ("nose",), ("sop",)),
    "outputs": whole(2, 0),
    "dtype": choice("float32", "int8", int), "device": choice("cpu"), "strict": FLAG,
    "directory": Argument("path", lambda world: world.saved), "input_ids": IDS, "attention_mask": IDS,
    "token_type_ids": IDS, "positions": PLACES, "sequences": value([[1, 2], [3]], "lists of ids", []),
    "batch_size": SIZE, "layers": value(None, "list", 99, "text"), "pool": choice("first"),
    "dropout": value(DropoutKey(0), "object", DropoutKey(-1), DropoutKey("a"), DropoutKey(0, step=2**65)),
    "recompute": value(0, "depth", 99), "hidden": thing("hidden", "array"), "pooled": thing("pooled", "array"),
    "totals": value(Totals(), "object", Totals(0), Totals(-1.0), Totals("a"), Totals(NAN), Totals(INF)),
    "weights": value((1.0, 1.0), "list", (1.0,), (NAN, 1.0), (INF, 1), "ab", ("a", "b")),
    "into": Argument("object", lambda world: world.params.zeros_like()),
    "batches": Argument("list", lambda world: [world.batch], [[]]), "size": SIZE, "length": whole(8, 0),
    "predictions": whole(2, 0, 99), "half": choice("ffn"), "layer": whole(0, 99),
    "flat": Argument("array", lambda world: world.params.flat), "shapes": Argument("table", lambda w: w.params.shapes),
    "arrays": Argument("table", lambda world: dict(world.params)), "copy": FLAG,
    "named_arrays": Argument("mapping", lambda world: dict(world.params)),
    "dhidden": thing("hidden", "array"), "dpooled": thing("pooled", "array"),
    **{name: Argument("array", lambda world, name=name: getattr(world.batch, name)) for name in Batch._fields[3:]},
    # Training
    "preset": choice("tiny"), "given": value({}, "table", {"model": 3}, {"nose": {}}, {"model": {"nose": 3}}),
    "advice": value("", "end of a sentence"),
    "path": Argument("path", lambda world: world.run), "tables": value({}, "table", {"nose": {}}, {"model": 3}),
    "section": choice("model"), "comment_defaults": FLAG, "corpus": thing("corpus"), "settings": thing("settings"),
    "held_out": Argument("object", lambda world: (world.corpus, world.tokenizer)), "run": thing("run", "path"),
    "observer": Argument("object", lambda world: train.Observer()), "own_code": value(None, "object"),
    "ranks": value(ALONE, "object"),
    "from_step": whole(0), "trials": whole(40, 0, 1), "tokenizer": thing("tokenizer"),
    "text": value("the [MASK] .", "text", "no mask", "[MASK] " * 99), "second": value("a cat", "text"),
    "top": whole(2, 0, 10**6), "broken": value([], "function"),
    # Data
    "verify": FLAG, "documents": value([["a cat", "the dog"]], "list"), "share": SHARE, "recipe": thing("recipe"),
    "epoch": whole(0), "numbers": value([0, 1], "list", [], [-1], [HUGE], [0.5]), "start": whole(0),
    "number": whole(0, 10**6), "index": whole(0), "stop": whole(2), "texts": value(["a cat"], "list"),
    "ids": value([1, 2], "list", [-1], [10**7]), "words": Argument("list", lambda world: ["a", "b"]),
    "instances": thing("instances"), "sample": whole(50, 0), "count": whole(5, 0), "first": whole(0),
    "sources": Argument("list", lambda world: data.story_sources(world.worlds, 5)), "workers": SIZE,
    "executor": value(None, "object"), "progress": FUNCTION, "worlds": thing("worlds"), "stories": SIZE,
    "paths": Argument("list", lambda world: [str(world.text)], ["no/such/file", [], ""]), "layout": choice("lines"),
    "shard_tokens": SIZE, "sentences": Argument("list", lambda world: world.text.read_text().split("\n")),
    "vocab_size": whole(20, 0), "threads": SIZE, "normaliser": value(None, "object"),
    "digit_commas": choice("intended"),
    # Tasks
    "place": Argument("path", lambda world: world.folder), "max_length": whole(24, 7),
    "task": Argument("object", lambda world: tasks.open_task("sst2")), "scores": value({}, "mapping"),
    "data": Argument("path", lambda world: world.folder),
    "trained": Argument("object", lambda world: tasks.open_finetuned(world.finetuned)),
    "question": value("who", "text", ""), "context": value("a cat", "text", " "),
    # Optimisers
    "grads": thing("grads"), "moments": thing("moments"), "rate": value(0.01, "positive"), "t": whole(1, 0),
    "scale": value(1.0, "positive"), "only": value(["pooler.w"], "list", "pooler.w", ["nose"]),
    "betas": value((0.9, 0.99), "list", (1, 1), (0.9,), ("a", "b"), (NAN, 0)), "eps": value(1e-6, "positive"),
    "weight_decay": value(0.01, "positive"), "bias_correction": FLAG, "clamp": value(1.0, "positive", 0),
    "peak": value(0.1, "positive"), "steps": whole(10, 0), "warmup": whole(1, 11), "shape": choice("linear"),
    "step": value(3, "positive"), "time_fraction": value(0.5, "positive"), "norm": value(np.float64(2.0), "positive"),
    "limit": value(1.0, "positive"), "name": value("pooler.w", "text"), "reference_batch": SIZE,
    "reference_rate": value(0.1, "positive"),
    # Gradient checks
    "forward": value(gelu_forward, "function"), "backward": value(gelu_backward, "function"),
    "args": value({"x": np.ones(3)}, "table", {}), "static": value({}, "mapping"),
    "constants": value((), "list", ["nose"]),
    "drawn": Argument("object", lambda world: plots.curves(np.arange(3.0), {"a": {"b": np.arange(3.0)}})),
    "states": Argument("list", lambda world: world.model.hidden_states(world.batch.input_ids)),
    "entries": FLAG, "method": choice("complex"), "key": value(DropoutKey(0), "object"),
}  # fmt: skip

# Where a parameter of one function is another thing than elsewhere.
HERE = {
    "Settings.read.path": Argument("path", lambda world: world.run / "config.toml"),
    "Corpus.open.directory": thing("directory", "path"), "Albert.save_pretrained.directory": value("x", "new path"),
    "pretrain.run": value("x", "new path"), "build_corpus.directory": value("x", "new path"),
    "open_trained.tokenizer": thing("word_list", "path"),
    "load_tokenizer.path": thing("word_list", "path"), "save.path": value("x.png", "new path", "x.doc"),
    "WordTokenizer.save.path": value("x.json", "new path"), "WordTokenizer.load.path": thing("word_list", "path"),
    "SentencePieceTokenizer.save.path": value("x", "new path"),
    "baselines.batch": thing("batch"), "find_rate.corpus": value(None, "object"), "sqrt_rule.batch": SIZE,
    "overfit.corpus": value(None, "object"), "pretrain.corpus": value(None, "object"),
    "prepare.corpus": value(None, "object"), "rate_warning.batch": SIZE, "Moments.m": thing("grads"),
    "plots.masked_text.first": value("A cat sat.", "text", ""),
    "plots.masked_text.second": value("It slept.", "text", ""),
    "check_model.name": value("model", "text"), "check_pair.name": value("pair", "text"),
    "build_corpus.settings": value({}, "mapping"),
    "curves.x": value(np.arange(3.0), "array"),
    "Albert.init.heads": KINDS["heads"],
    "TinyWorlds.documents.start": whole(0),
    "Batch.random.config": thing("config"),
    "Settings.change.recompute": value(0, "depth"), "read_lines.run": value("x", "new path"),
    "AlbertConfig.group_of.layer": whole(0, 99), "analysis.one_model.batch": SIZE,
    "Albert.encode_many.layers": Argument("list", None, [99, "text"], optional=True),
    "WordTokenizer.encode.text": value("a cat", "text"),
    "WordTokenizer.encode_with_places.text": value("a cat", "text"),
    "Albert.encode_many.pool": Argument("choice", None, optional=True),
    "analysis.one_model.preset": value("tiny", "text"),
    "finetune.settings": Argument("object", lambda world: world.task_settings), "finetune.run": value("x", "new path"),
    "TaskSettings.read.path": value("x.toml", "path"),
    "open_task.name": choice("sst2"), "open_finetuned.name": choice("sst2", "mnli"),
    "open_finetuned.path": thing("finetuned", "path"), "open_finetuned.tokenizer": thing("word_list", "path"),
    "classify.first": value("a cat", "text", ""), "classify.second": value(None, "text", "a dog"),
    "answer.trained": Argument("object", lambda world: tasks.open_finetuned(world.answering)),
    "save_facts.directory": Argument("path", lambda world: world.finetuned),
    "swapped.first": value("a cat", "text"),
    "minimal_pairs.path": Argument("path", lambda world: world.pairs),
    "Corpus.split.rule": choice("one of each stretch"), "prepare.split": value(None, "object"),
}  # fmt: skip

# Free of checks: what only holds what it is given, and is checked where it is used; the mathematics of one tensor. So
# are `layers`, for the same reason, and the formulas of `analysis`, whose configuration was checked.
FREE = {
    "Losses", "Pair", "Pairs", "Totals", "DropoutKey", "MinalbertError", "Observer", "GradientError", "Report", "Story",
    "adamw_tensor", "lamb_tensor", "exempt", "Batch", "Corpus", "Moments", "SentencePieceTokenizer", "Params",
}  # fmt: skip


# A class's methods are called on a good object.
OBJECTS = {
        "Albert": lambda world: world.model, "AlbertConfig": lambda world: world.config,
        "Batch": lambda world: world.batch, "Params": lambda world: world.params,
        "Settings": lambda world: world.settings, "Corpus": lambda world: world.corpus,
        "Instances": lambda world: world.instances, "Recipe": lambda world: world.recipe,
        "TinyWorlds": lambda world: world.worlds, "WordTokenizer": lambda world: world.tokenizer,
        "AdamW": lambda world: optim.AdamW(), "Lamb": lambda world: optim.Lamb(),
        "Moments": lambda world: world.moments, "Schedule": lambda world: optim.Schedule(0.1, 10, 1),
    }  # fmt: skip


INTERNAL = {"surname", "adjective", "ratio", "given_in", "settings", "as_whole_numbers", "release"}
INTERNAL |= {"micro_batches", "section", "with_changes", "known", "copy_of", "first_lines", "may_change"}


def listed(room):
    (line,) = re.findall(rf"^\| `{room}` \|(.*)\|$", PAGE, re.MULTILINE)
    return re.findall(r"`(\w+)`", line)


def public():
    """{label: a function of the world that gives the public function}"""
    found = {}
    for module, names in (
        (minalbert, minalbert.__all__),
        *((room, listed(room.__name__.split(".")[1])) for room in (train, data, tasks, plots, gradcheck, optim)),
    ):
        for name in names:
            thing = getattr(module, name, None)
            if callable(thing) and name not in FREE:
                label = f"plots.{name}" if module is plots else name
                found[label] = lambda world, thing=thing: thing
            if inspect.isclass(thing):
                found |= methods(thing)
    for function in (analysis.report.one_model, smoothness.smoothness, analysis.parameters.totals):
        found[f"analysis.{function.__name__}"] = lambda world, function=function: function
    found["Encoding.backward"] = lambda world: world.encoding().backward
    return found


def methods(kind):
    inherited = {name: member for base in reversed(kind.__mro__) if base.__module__.startswith("minalbert.")
                 for name, member in vars(base).items()}  # fmt: skip
    for name, member in inherited.items():
        if name.startswith("_") or name in INTERNAL or isinstance(member, property):
            continue
        if isinstance(member, classmethod | staticmethod):
            yield f"{kind.__name__}.{name}", lambda world, name=name: getattr(kind, name)
        elif callable(member) and kind.__name__ in OBJECTS:
            yield (f"{kind.__name__}.{name}", lambda world, name=name: getattr(OBJECTS[kind.__name__](world), name))


FIELDS = {int: "whole", float: "positive", bool: "flag", str: "choice"}
KEYWORDS = {  # of functions that take **changes: the fields of these
    "AlbertConfig.replace": [minalbert.AlbertConfig], "Recipe.released": [data.Recipe], "Recipe.replace": [data.Recipe],
    "Settings.change": list(Settings.SECTIONS.values()),
}  # fmt: skip
FREE_TEXT = {"corpus", "held_out", "code", "weights", "pass_over", "spare"}  # settings that may be any text


def kind_of(label, parameter):
    """The Argument that a parameter of a function is, by its name, or a dataclass's field, by its type."""
    found = HERE.get(f"{label}.{parameter.name}") or (None if is_field(parameter) else KINDS.get(parameter.name))
    if found:
        return found
    assert is_field(parameter), f"{label}: nothing is known of {parameter.name}; add it to KINDS"
    return field_kind(parameter.name, parameter.annotation, parameter.default)


def is_field(parameter):
    return parameter.annotation is not inspect.Parameter.empty


def field_kind(name, annotation, default):
    kinds = [kind for kind in typing.get_args(annotation) or [annotation] if kind is not type(None)]
    if kinds[0] not in FIELDS:
        return KINDS[name]
    kind = "text" if name in FREE_TEXT else FIELDS[kinds[0]]
    return Argument(kind, lambda world: default)


def parameters(label, function):
    """(name, Argument, default) of each; of **changes, each field that there is."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            for section in KEYWORDS.get(label, []):
                for item in dataclasses.fields(section):
                    kind = HERE.get(f"{label}.{item.name}") or field_kind(item.name, item.type, item.default)
                    yield item.name, kind, item.default
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            yield parameter.name, kind_of(label, parameter), parameter.default


def is_figure(label):
    """A figure draws tables of many forms: all that it needs is something else at once."""
    return label.startswith("plots.") and label not in ("plots.save", "plots.masked_text")


class Call(NamedTuple):
    label: str
    parameter: str
    wrong: object

    def __str__(self):
        return f"{self.label}({self.parameter}={self.wrong!r})"


def all_calls(world):
    for label, make in public().items():
        function = make(world)
        if is_figure(label):
            names = [name for name, parameter in inspect.signature(function).parameters.items()
                     if parameter.default is parameter.empty]  # fmt: skip
            yield from (Call(label, names[0], wrong) for wrong in WRONG["table"] if wrong != 3)
            continue
        for name, argument, default in parameters(label, function):
            yield from (Call(label, name, wrong) for wrong in argument.wrong(default))


def make(call, world):
    """Return what is wrong with how the call ends, or None."""
    function = public()[call.label](world)
    given = {call.parameter: call.wrong}
    if is_figure(call.label):
        needed = [name for name, parameter in inspect.signature(function).parameters.items()
                  if parameter.default is parameter.empty]  # fmt: skip
        given = dict.fromkeys(needed, call.wrong)
    else:
        for name, argument, default in parameters(call.label, function):
            if default is inspect.Parameter.empty and name not in given:
                given[name] = argument.good(world)
    try:
        with warnings.catch_warnings(), limited(SECONDS):
            warnings.simplefilter("error")
            found = function(**given)
            if inspect.isgenerator(found):
                next(found)
    except MinalbertError as error:
        sentence = str(error)
        if "\n" in sentence or not 10 < len(sentence) <= LONGEST:
            return f"not one sentence: {sentence!r}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    return "accepted"


@contextmanager
def limited(seconds):
    """A call that takes longer is one that hangs; Windows cannot end it."""

    def late(*_):
        raise TimeoutError(f"it took more than {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def failures(count, seed, folder):
    """Sentences: one for each call that did not end as it must."""
    world, here = World(folder), Path.cwd()
    os.chdir(folder)
    try:
        calls = list(all_calls(world))
        chosen = calls if count is None else random.Random(seed).sample(calls, min(count, len(calls)))
        return len(chosen), [f"{call}: {found}" for call in chosen if (found := make(call, world))]
    finally:
        os.chdir(here)


def main(failures, kind, description):
    """Try `failures` of the bad calls or command lines, and print what did not end in a sentence. Returns if any."""
    parser = argparse.ArgumentParser(description=description.split(":")[0])
    parser.add_argument("--count", type=int, help=f"{kind}; default: all there are")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32), help="which")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        count, found = failures(options.count, options.seed, Path(folder))
    print(*found, sep="\n")
    print(f"{count} bad {kind}, seed {options.seed}: {len(found)} did not end in a sentence")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(failures, "calls", __doc__))
