"""`minalbert demo`: from nothing to a small ALBERT that fills in words and tells in which order things happened.

The stories are rings of tiny worlds: what happens goes round and round, and a story begins anywhere, so that no word
tells early from late. Only how two sentences follow each other does, and ALBERT has to find that out. For two
thousand steps it seems not to; then it does.
"""

import json
import shutil
import sys
import textwrap
import time
from pathlib import Path

from .. import plots
from ..data.build import build
from ..data.manifest import MANIFEST
from ..data.sources import story_sources
from ..data.tiny_worlds import TinyWorlds
from ..data.word_tokenizer import WordTokenizer
from ..errors import MissingLibraryError
from ..params import count
from ..train import pretrain, read_curves, run_directory
from ..train.filling import fill
from ..train.ordering import swapped
from ..train.settings import Settings
from .progress import Progress
from .run_lines import as_json, evaluation_lines, guessing_line, time_line

STORIES = 30_000
WORLDS = TinyWorlds(ring_fraction=1.0, p_branch=0.0, p_handover=0.0, p_long=0.0, p_fill=0.1)
RECIPE = Settings().change(
    preset="tiny", num_hidden_layers=2, max_position_embeddings=32,
    max_length=32, max_predictions=3, mask_fraction=0.1,
    short_fraction=0.5,                              # among them pairs of single sentences, the easiest to order
    steps=7000, batch=64, micro_batch=32, optimiser="lamb", rate=0.003, beta2=0.98,
    minutes=3.5, evaluate_every=250, evaluate_instances=2000, every=1000,
)


def add_arguments(parser):
    parser.description = ("Make a corpus, pretrain a small ALBERT on it, and see what it has learnt: some two minutes. "
                          "On a slow machine training ends after 3.5 minutes, with fewer steps.")
    parser.add_argument("--out", default="demo", metavar="DIR", help="for corpus, run and curves; default: demo")
    parser.add_argument("--optimiser", choices=("lamb", "adamw"), default="lamb", help="default: lamb, ALBERT's own")
    parser.add_argument("--kernels", choices=Settings.CHOICES["kernels"], default="plain",
                        help="default: plain, the files that you read; fused is faster")
    parser.add_argument("--seed", type=int, default=0, help="of weights, masks and order; default: 0")
    parser.add_argument("--steps", type=int, metavar="N", help=f"of training; default: {RECIPE.training.steps:,}")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end")


def run(options):
    out = Path(options.out)
    say = (lambda *_: None) if options.json else (lambda lines: print(*lines, "", sep="\n", flush=True))
    settings = RECIPE.change(corpus=str(out / "worlds"), seed=options.seed, optimiser=options.optimiser,
                             kernels=options.kernels)
    settings = settings.change(steps=options.steps) if options.steps is not None else settings

    there, begin = (out / "worlds" / MANIFEST).exists(), time.perf_counter()
    corpus = build(story_sources(WORLDS, STORIES), WordTokenizer(WORLDS.words()), out / "worlds")
    making = time.perf_counter() - begin
    settings = settings.change(vocab_size=corpus.vocab_size)
    run_directory.changes(out / "run", settings)
    say(corpus_lines(corpus, "there already" if there else f"made in {making:.1f} s"))
    say(training_lines(settings))
    result = pretrain(settings, out / "run", observer=Progress(quiet=options.json))
    if result.code:
        say([f"stopped at step {result.step:,}; the same command resumes the run"])
        return result.code

    tokenizer, model = corpus.tokenizer(), result.model
    masked = [masked_story(model, tokenizer, STORIES + number) for number in range(3)]
    order = ordered_story(model, tokenizer, STORIES + 3)
    say(learnt_lines(result, making))
    say(masked_lines(masked))
    say(order_lines(order))
    curves = draw_curves(out, f"Two minutes of ALBERT, {options.optimiser}")
    say(ending_lines(out, curves, options.optimiser))
    if options.json:
        learnt = {"masked": masked, "order": order, "curves": curves and str(curves)}
        print(json.dumps({"making": making, **as_json(result), **learnt}, indent=1))
    return 0


# What it can do, on stories that it has not read.


def masked_story(model, tokenizer, index):
    """A story's first two steps, the last word of the second hidden, and the guesses at it."""
    before, sentence = step_sentences(index)[:2]
    *words, word, stop = sentence.split()
    text = " ".join([*words, "[MASK]", stop])
    (guesses,) = fill(model, tokenizer, before, text, top=3).guesses
    return {"before": before, "text": text, "word": word, "guesses": [list(guess) for guess in guesses]}


def ordered_story(model, tokenizer, index):
    """Two neighbouring sentences, as they were told and the other way round: how sure is it that they are swapped?"""
    first, second = step_sentences(index)[:2]
    pairs = (first, second), (second, first)
    return {"first": first, "second": second, "swapped": [swapped(model, tokenizer, *pair) for pair in pairs]}


def step_sentences(index):
    """Those of a story that tell what happens, as the tokenizer wants them: not the weather's."""
    (document,), steps = list(WORLDS.documents(index, index + 1)), WORLDS.story(index).steps
    return [sentence for sentence, step in zip(document.sentences, steps, strict=True) if step is not None]


# What is printed.


def corpus_lines(corpus, made):
    totals = corpus.totals()
    yield f"1  A corpus: {totals['documents']:,} stories, {totals['tokens']:,} words, {made}"
    story = " ".join(step_sentences(0)[:4])
    yield from textwrap.wrap(f"{story} ...", 96, initial_indent="      ", subsequent_indent="      ")


def training_lines(settings):
    config, training = settings.model, settings.training
    yield (f"2  Pretraining: {count(config):,} weights, {config.num_hidden_layers} layers that share them "
           f"(unshared, {count(config.replace(sharing='none')):,})")
    yield f"      {training.steps:,} times it reads {training.batch} pairs of texts and answers two questions:"
    yield "      MLM, which words are hidden?   SOP, are the two halves in order, or swapped?"
    yield "      Words are learnt from the start, order not before some 2,000 steps. Ctrl-C saves and stops."


def learnt_lines(result, making):
    yield "3  What it learnt, tested on stories that were kept from it"
    lines = [*evaluation_lines(result.before, result.after), guessing_line(result.baselines)]
    yield from (f"      {line}" for line in lines)
    yield "      guessing: always the most frequent word, or a random order. Often several words fit: no 100 %."
    if any(result.spent.values()):
        yield f"      {time_line(result.spent | {'data': result.spent['data'] + making})}"


def masked_lines(masked):
    yield "4  Hidden words, in stories it has never seen"
    for found in masked:
        yield f"      {found['before']} {found['text']}"
        guesses = ", ".join(f"{piece} {probability:.0%}" for piece, probability in found["guesses"])
        words = [piece for piece, _ in found["guesses"]]
        place = dict(zip(words, ("first", "second", "third"), strict=True)).get(found["word"])
        yield f"          {guesses}      it was: {found['word']}, {f'its {place} guess' if place else 'not among them'}"


def order_lines(order):
    yield "5  Which came first?"
    for (first, second), turned, chance in zip(
        (("first", "second"), ("second", "first")), (False, True), order["swapped"], strict=True
    ):
        yield f"      {order[first]} | {order[second]}"
        answer = f"swapped, {chance:.0%}" if chance > 0.5 else f"in order, {1 - chance:.0%}"
        yield f"          {answer}      {'right' if turned == (chance > 0.5) else 'wrong'}"


def draw_curves(out, title):
    """The path of the figure, or None where matplotlib is not installed."""
    path = out / "curves.png"
    try:
        plots.save(plots.training_curves([read_curves(out / "run")._replace(name=title)]), path)
    except MissingLibraryError:
        return None
    return path


def ending_lines(out, curves, optimiser):
    yield f"6  The curves: {curves}" if curves else "6  The curves need matplotlib: pip install matplotlib"
    program = "minalbert" if shutil.which("minalbert") else f"{sys.executable} -m minalbert"
    yield "      Next:"
    other = "adamw" if optimiser == "lamb" else "lamb"
    sentence = " ".join(step_sentences(STORIES + 4)[0].split()[:-2])
    for command, purpose in (
        (f'{program} fill "{sentence} [MASK] ." --model {out / "run"}', "what it puts there, and what it looks at"),
        (f"{program} demo --optimiser {other} --out {out}-{other}", "the other optimiser"),
        (f"{program} plot {out / 'run'} {Path(f'{out}-{other}') / 'run'}", "both runs' curves"),
        (f"{program} pretrain my-run --config {out / 'run' / 'config.toml'} --rate 0.002", "a run of your own"),
    ):
        yield f"        {command}"
        yield f"            {purpose}"
