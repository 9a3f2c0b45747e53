"""`minalbert data build | stats | show | verify | audit`: text becomes shards; look at them; distrust them.

`minalbert data tasks` writes what a model that was trained on tiny worlds can be tested with.
"""

from tqdm import tqdm

from .. import plots
from ..arguments import whole
from ..data.audit import FEWEST_PAIRS
from ..data.audit_pairs import audit_instances
from ..data.build import build
from ..data.documents import LAYOUT_HELP, LAYOUTS
from ..data.instances import Instances
from ..data.recipe import Recipe
from ..data.shards import Corpus
from ..data.sources import STORIES, TOKENS, story_sources, text_sources
from ..data.stats import corpus_stats, instance_stats
from ..data.strip import strip
from ..data.tiny_worlds import TinyWorlds
from ..data.tiny_worlds.tasks import write_tasks
from ..data.tokenizer import UNK
from ..data.word_tokenizer import WordTokenizer
from ..errors import DataError
from . import data_lines, strip_lines
from .options import add_section, figure_file, given_fields
from .printing import counted, in_colour, print_result, width

LOOKED_AT = 10**6                                    # tokens, for a first look at a new corpus


def add_arguments(parser):
    commands = parser.add_subparsers(metavar="build | stats | show | verify | audit | tasks", required=True)

    command = commands.add_parser("build", help="make shards of text, or of generated stories")
    command.add_argument("input", nargs="*", help="files, directories, globs, or - for standard input")
    command.add_argument("--tokenizer", metavar="FILE", help="spiece.model, ours or a released one")
    command.add_argument("--out", required=True, metavar="DIR", help="for the shards, and a copy of the tokenizer")
    command.add_argument("--layout", choices=LAYOUTS, default="lines", help=f"how the text is laid out: {LAYOUT_HELP}")
    command.add_argument("--workers", type=int, default=1, metavar="N", help="processes; default: 1")
    command.add_argument("--shard-tokens", type=int, default=TOKENS, metavar="N",
                         help=f"about so many a shard, by the bytes of text; default: {TOKENS:,}")
    command.add_argument("--tiny-worlds", type=int, metavar="N", help="N generated stories instead of text")
    command.add_argument("--seed", type=int, default=0, help="of the stories; default: 0")
    command.set_defaults(action=run_build)

    command = directory_command(commands, "stats", "lengths, masks, spans and labels, counted", run_stats)
    command.add_argument("--sample", type=int, default=2000, metavar="N", help="instances to look at; default: 2000")
    command.add_argument("--plot", type=figure_file, metavar="FILE", help="draw the histograms, as .png, .svg or .pdf")
    add_instance_arguments(command)

    command = directory_command(commands, "show", "one instance, token by token", run_show)
    command.add_argument("--number", type=int, default=0, metavar="I", help="of the instance; default: 0")
    add_instance_arguments(command)

    directory_command(commands, "verify", "compare every byte with its checksum", run_verify)

    command = directory_command(commands, "audit", "can labels be guessed from the wrong clues?", run_audit)
    command.add_argument("--sample", type=int, default=20_000, metavar="N",
                         help="instances to learn from and to test on; default: 20000")
    add_instance_arguments(command)

    command = commands.add_parser("tasks", help="labelled tasks of tiny worlds, as GLUE, SQuAD and RACE have them")
    command.add_argument("out", metavar="OUT", help="directory for a directory of each task")
    command.add_argument("--seed", type=int, default=0, help="another seed, other examples; default: 0")
    command.add_argument("--train", type=int, default=1000, metavar="N", help="examples of each task; default: 1000")
    command.add_argument("--dev", type=int, default=500, metavar="N", help="and of others to test on; default: 500")
    command.set_defaults(action=run_tasks)
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="print one JSON object")


def directory_command(commands, name, purpose, action):
    command = commands.add_parser(name, help=purpose)
    command.add_argument("directory", help="that `minalbert data build` made")
    command.set_defaults(action=action)
    return command


def add_instance_arguments(command):
    command.add_argument("--epoch", type=int, default=0, metavar="E", help="default: 0")
    command.add_argument("--seed", type=int, default=0, help="of the instances; default: 0")
    add_section(command, "recipe")


def run(options):
    return options.action(options)


def run_build(options):
    sources, tokenizer, settings = what_to_build(options)
    total = len(sources) if hasattr(sources, "__len__") else None
    with tqdm(total=total, desc="build", unit="shard", disable=None) as bar:

        def progress(record):
            bar.update()
            bar.set_postfix_str(f"{record['tokens']:,} tokens in {record['name']}")

        corpus = build(sources, tokenizer, options.out, settings=settings, workers=options.workers, progress=progress)
    totals = {**corpus.totals(), "shards": len(corpus.shards), "vocab_size": corpus.vocab_size}
    summary = [
        f"{options.out}: {counted(totals['documents'], 'document')}, {counted(totals['sentences'], 'sentence')}, "
        f"{totals['tokens']:,} tokens in {counted(totals['shards'], 'shard')}"
    ]
    print_result(options, {"directory": options.out, **totals}, [*summary, *doubts(corpus)])
    return 0


def doubts(corpus):
    """Sentences about what looks wrong in a first look at the corpus."""
    tokens = corpus.shards[0].tokens[:LOOKED_AT]
    unknown, long = float((tokens == UNK).mean()), corpus.totals()["tokens"] / corpus.totals()["sentences"]
    if unknown > 0.01:
        yield f"{unknown:.0%} of the tokens are unknown to the tokenizer: was it made for this text?"
    if long > 50:
        yield f"a sentence has {long:.0f} tokens on average: is a paragraph on each line? then --layout long-lines"


def what_to_build(options):
    whole("seed", options.seed, error=DataError)
    if options.tiny_worlds is not None:
        if options.input or options.tokenizer:
            raise DataError("--tiny-worlds makes its own text and vocabulary; give no input and no --tokenizer")
        worlds = TinyWorlds(seed=options.seed)
        whole("shard_tokens", options.shard_tokens, 1, error=DataError)
        per_shard = max(1, min(STORIES, options.shard_tokens // 100))
        sources = story_sources(worlds, options.tiny_worlds, per_shard)
        return sources, WordTokenizer(worlds.words()), {"tiny_worlds": options.tiny_worlds, "per_shard": per_shard}
    if not options.input:
        raise DataError("no input was given; name files, directories, globs, - for standard input, or --tiny-worlds N")
    if not options.tokenizer:
        raise DataError("no --tokenizer was given; `minalbert tokenizer train` makes one")
    sources = text_sources(options.input, options.layout, options.shard_tokens)
    return sources, options.tokenizer, {"layout": options.layout, "shard_tokens": options.shard_tokens}


def run_stats(options):
    corpus, _, instances = opened(options)
    whole("sample", options.sample, 1, error=DataError)
    found = {"corpus": corpus_stats(corpus), "recipe": vars(instances.recipe),
             "instances": instance_stats(instances, options.sample, options.epoch)}
    histograms = {**found["corpus"]["histograms"], **found["instances"]["histograms"]}
    print_result(options, found, [
        *data_lines.corpus(found["corpus"]), *data_lines.instances(found["instances"]), "",
        *data_lines.side_by_side(histograms, width()),
    ])
    if options.plot:
        plots.save(plots.histograms(histograms), options.plot)
    return 0


def run_show(options):
    _, tokenizer, instances = opened(options)
    shown = strip(instances, tokenizer, options.epoch, options.number)
    rows = [[name, [cell._asdict() for cell in cells]] for name, cells in shown.rows]
    print_result(options, {**shown._asdict(), "rows": rows}, strip_lines.lines(shown, width(), in_colour()))
    return 0


def run_verify(options):
    corpus = Corpus.open(options.directory, verify=True)
    files = 4 * len(corpus.shards)
    corpus.tokenizer()
    print_result(options, {"directory": options.directory, "files": files, **corpus.totals()}, [
        f"{options.directory}: {files} files and the tokenizer are whole, to the last byte"
    ])
    return 0


def run_audit(options):
    if options.pairs == "none":
        raise DataError("pairs is 'none'; without pairs there are no labels to audit")
    if options.sample < FEWEST_PAIRS:
        raise DataError(f"sample is {options.sample}; an audit needs at least {FEWEST_PAIRS} pairs")
    _, tokenizer, instances = opened(options)
    findings = audit_instances(instances, tokenizer, options.sample, options.epoch)
    leaks = [finding.probe for finding in findings if finding.leaks]
    print_result(options, {"leaks": leaks, "findings": [finding._asdict() for finding in findings]},
                 data_lines.audit(findings))
    return 1 if leaks else 0


def run_tasks(options):
    tasks = write_tasks(options.out, options.seed, options.train, options.dev)
    result = {"directory": options.out, "seed": options.seed, "tasks": [task._asdict() for task in tasks]}
    print_result(options, result, data_lines.tasks(tasks))
    return 0


def opened(options):
    changes = given_fields(options, "recipe")
    recipe = Recipe.released(**changes) if options.policy == "released" else Recipe(**changes)
    corpus = Corpus.open(options.directory)
    tokenizer = corpus.tokenizer()
    return corpus, tokenizer, Instances(corpus, tokenizer, recipe, options.seed)
