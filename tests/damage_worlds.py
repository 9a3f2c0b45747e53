"""What damage.py damages, and what a user would run next: a world is a corpus, a run on it and a saved model.

worlds/words/corpus/   run/   saved/        and two others of the same form, to take files from:
worlds/words-sister/                        other documents, the same words; another run on words/corpus
worlds/words-stranger/                      another vocabulary of equal size, another corpus, a run on it
worlds/pieces.../                           the same with a sentencepiece model, if that is installed
"""

import hashlib
import importlib.util
import json
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import small_run

from minalbert import Albert, commands
from minalbert.data import sentencepiece_training
from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import MinalbertError
from minalbert.train import assemble, curves, pretrain

STORIES, PER_SHARD, PIECES = 40, 20, 220
STEPS, STOPPED, EVERY = 10, 6, 2  # of a run: it is stopped at step 6 of 10, with checkpoints every 2 steps
NEWEST = f"run/step-{STOPPED:08d}"
RUN = {"steps": STEPS, "every": EVERY, "evaluate_every": 3, "log_every": 1, "batch": 8, "micro_batch": 4, "workers": 1,
       "evaluate_instances": 16, "keep": 3, "corpus": "corpus"}  # fmt: skip
TEXT = "the [MASK] went to the house ."
SELVES = {"words": ("words", 1, 1), "sister": ("words", 2, 2), "stranger": ("stranger", 3, 3)}
RELATIVES = ("sister", "stranger")


class Outcome(NamedTuple):
    action: str
    code: int | str  # a command's exit code; or the name of what ended it
    said: str  # all that it printed but for its result
    result: dict | list | None  # equal if and only if the bits that were computed are


# Making them. Each world is made in a directory of its own, so that the names it keeps are short and the same.


def make(directory):
    """Make all worlds. Returns the names of those that may be damaged."""
    names = ["words", *(["pieces"] if importlib.util.find_spec("sentencepiece") else [])]
    for name in names:
        tokenizer, other = vocabularies(name)
        make_world(directory / name, 1, tokenizer, 1)
        make_world(directory / f"{name}-sister", 2, tokenizer, 2, of=directory / name)
        make_world(directory / f"{name}-stranger", 3, other, 3)
    return names


def vocabularies(name):
    """Two tokenizers with as many pieces."""
    if name == "words":
        words = TinyWorlds(seed=1).words()
        return WordTokenizer(words), WordTokenizer(words[::-1])
    texts = ([line for text in TinyWorlds(seed=seed).documents(0, 80) for line in text.sentences] for seed in (1, 2))
    return [sentencepiece_training.train(text, PIECES) for text in texts]


def make_world(place, stories, tokenizer, seed, of=None):
    """of: the world whose corpus the run trains on, instead of its own."""
    place.mkdir(parents=True)
    tokenizer.save(place / tokenizer.file_name)
    os.chdir(place)
    build(sources(stories), tokenizer, "corpus")
    settings = small_run.small_settings(**RUN, seed=seed, vocab_size=tokenizer.vocab_size)
    Path("small.toml").write_text(settings.change(steps=3).toml(), encoding="utf-8")
    if of:
        os.chdir(of)
    assemble.StopSignals = lambda alert: small_run.StopAt(STOPPED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = pretrain(settings, place / "run")
    assert stopped.step == STOPPED
    os.chdir(place)
    Albert.from_pretrained(NEWEST).save_pretrained("saved", tokenizer)


def sources(seed):
    return story_sources(TinyWorlds(seed=seed), STORIES, PER_SHARD)


# What a user runs next, in the world's directory.

COMMANDS = {
    "verify": "data verify corpus --json",
    "stats": "data stats corpus --sample 20 --max-length 24 --json",
    "score": "eval saved --corpus corpus --sample 16 --max-length 24 --json",
    "eval": "eval run --json",
    "fill": "fill {text} --model run --json",
    "fill saved": "fill {text} --model saved --json",
    "plot": "plot run --out curves.svg --json",
    "new": "pretrain new --config small.toml",
    "begin": "pretrain begun --config small.toml --weights run",
    "begin saved": "pretrain begun --config small.toml --weights saved",
    "resume": "pretrain run",
}
ACTIONS = {
    "corpus": ("verify", "stats", "score", "eval", "new", "resume", "rebuild"),
    "checkpoint": ("eval", "fill", "load", "begin", "resume"),
    "run": ("eval", "fill", "curves", "plot", "resume"),
    "saved": ("fill saved", "load saved", "score", "begin saved"),
}  # those that change what is there come last
CHANGING = ("resume", "rebuild")
READING = tuple(dict.fromkeys(action for row in ACTIONS.values() for action in row if action not in CHANGING))
PASSING = (*small_run.CLOCK, "run")  # what no two runs share
EARLIER = ("eval", "fill", "begin")  # may go on with an earlier checkpoint, if they say so


def act(action, printed):
    """Do it here and now. `printed()` returns what was written to stdout and to stderr since it was last called."""
    printed()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            code, result = perform(action)
    except MinalbertError as error:
        return Outcome(action, "typed", printed()[1] + str(error), None)
    except BaseException as error:  # SystemExit of a library, too
        return Outcome(action, type(error).__name__, f"{type(error).__name__}: {error}", None)
    out, err = printed()
    for warning in warned:
        if not issubclass(warning.category, UserWarning):
            code = warning.category.__name__
        err += f"{warning.message}\n"
    if code == 0 and "--json" in COMMANDS.get(action, ""):
        result = json.loads(out)
    return Outcome(action, code, err, result if code == 0 else None)


def perform(action):
    """Return an exit code, and the result if it is not what was printed."""
    if action.startswith("load"):
        return 0, bits_of(Albert.from_pretrained("saved" if "saved" in action else NEWEST))
    if action == "curves":
        found = curves.read_curves("run")._asdict()
        return 0, {"curves": json.dumps(found, default=lambda array: array.tolist())}  # whose NaN equals itself
    if action == "rebuild":
        return rebuilt()
    argv = [TEXT if word == "{text}" else word for word in COMMANDS[action].split()]
    try:
        code = commands.main(argv)
    except SystemExit as exit:
        code = exit.code
    return code, bits_of_run(Path(argv[1])) if code == 0 and argv[0] == "pretrain" else None


def rebuilt():
    """The way on that sentences about a corpus name."""
    tokenizer = next(path for path in Path().glob("tokenizer.*") if ".recipe" not in path.name)
    build(sources(1), tokenizer, "corpus")
    files = [*sorted(Path("corpus").glob("shard-*")), Path("corpus/manifest.json")]
    return 0, {path.name: sha256(path) for path in files}


def bits_of(model):
    return {"bits": hashlib.sha256(model.params.flat.tobytes()).hexdigest(), "config": json.dumps(vars(model.config))}


def bits_of_run(run):
    """The newest checkpoint's bits and the log, read without the program's own functions."""
    newest = max(run.glob("step-*"))
    state = json.loads((newest / "state.json").read_bytes())
    bits = {name: sha256(newest / name) for name in ("model.safetensors", "moments.safetensors")}
    return {**bits, "step": state["step"], "position": state["position"], "lines": [*lines_of(run)]}


def lines_of(run):
    for line in (run / "metrics.jsonl").read_bytes().splitlines():
        with suppress(ValueError):
            found = json.loads(line)
            if isinstance(found, dict) and found.get("event") != "resumed":
                yield {name: value for name, value in found.items() if name not in PASSING}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
