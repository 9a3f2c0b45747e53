"""`minalbert params`: the counts of one model on a screen, or of all models in a table, or as JSON.

With --ranks N, the time of a training step on N machines, as `analysis.step_time` models it.
"""

import math
from argparse import ArgumentTypeError

from ..analysis import report, step_time
from ..arguments import whole
from ..config import PRESETS
from ..errors import ConfigError
from . import params_lines, step_lines
from .options import given_fields
from .printing import print_result

BATCH, PAPERS_BATCH = 32, 4096
LETTERS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def add_arguments(parser):
    parser.add_argument("--preset", default="albert-base-v2", metavar="NAME",
                        help="a model; --list shows all, and albert-base is albert-base-v2, the default")
    parser.add_argument("--embedding-size", type=int, metavar="E", help="width of an embedding")
    parser.add_argument("--sharing", help="what the layers share: all, attention, ffn or none")
    parser.add_argument("--groups", dest="num_hidden_groups", type=int, metavar="G",
                        help="groups of layers that share; one holds them all")
    parser.add_argument("--vocab-size", type=int, metavar="V", help="words in the vocabulary")
    parser.add_argument("--length", type=int, metavar="T", help="tokens in a sequence; default: all the model reads")
    parser.add_argument("--batch", type=int, metavar="B",
                        help=f"sequences in a batch; default: {BATCH}, with --ranks {PAPERS_BATCH:,}, as in the paper")
    parser.add_argument("--list", action="store_true", help="one line for each preset and each model of the ablations")
    parser.add_argument("--json", action="store_true", help="print the same numbers as one JSON object")
    step = parser.add_argument_group("the time of a step on several machines", "a number may end with k, M, G, T or P")
    step.add_argument("--ranks", type=int, metavar="N", help="machines that share a batch")
    step.add_argument("--bandwidth", type=amount, metavar="BITS", help="bits a second that each sends, such as 25G")
    step.add_argument("--rate", type=amount, metavar="OPERATIONS",
                      help="operations a second that each computes in a step, as `minalbert bench` measures them; "
                           "default: so many that ALBERT-large is 1.7 times as fast as BERT-large, as in the paper")
    step.add_argument("--memory", type=amount, metavar="BYTES",
                      help="bytes a second that each one's memory reads and writes; default: no end of them")


def run(options):
    given = [f"--{name}" for name in ("bandwidth", "rate", "memory") if getattr(options, name) is not None]
    if given and options.ranks is None:
        raise ConfigError(f"{given[0]} was given without --ranks, the number of machines that share a batch")
    if options.ranks is not None:
        counts = step_times(options)
        lines = step_lines.step_times(counts)
    elif options.list:
        counts = report.every_model()
        lines = params_lines.table(counts)
    else:
        preset = PRESETS.full_name(options.preset)
        config = configuration(options)
        counts = report.one_model(preset, config, length(options, config), batch(options, BATCH))
        lines = params_lines.one_model(counts)
        if preset != options.preset:
            lines = [f"{options.preset} is {preset}", *lines]
    print_result(options, counts, lines)
    return 0


def configuration(options):
    changes = given_fields(options, "model")
    config = PRESETS[options.preset].replace(**changes)
    if "num_hidden_groups" in changes and config.sharing == "none":
        raise ConfigError(f"groups is {config.num_hidden_groups}, but sharing is 'none'; groups need one of: all, "
                          "attention, ffn")
    return config


def length(options, config):
    longest = config.max_position_embeddings
    length = longest if options.length is None else options.length
    if not 1 <= length <= longest:
        raise ConfigError(f"length is {length}; it must be from 1 to the {longest} positions of {options.preset}")
    return length


def batch(options, default):
    return default if options.batch is None else whole("batch", options.batch, 1, 2**40, ConfigError)


def step_times(options):
    """The step-time model of the paper's models, and of the one that is named, if it is another."""
    whole("--ranks", options.ranks, 1, 2**20, ConfigError)
    if options.bandwidth is None:
        raise ConfigError("--bandwidth is missing; it must be the bits a second that each machine sends, such as 25G")
    named, config = PRESETS.full_name(options.preset), configuration(options)
    models = {name: PRESETS[name] for name in step_time.PAPER}
    if config not in models.values():
        models[named if config == PRESETS[named] else f"{named}, changed"] = config
    size = batch(options, PAPERS_BATCH), length(options, config)
    machines = step_time.Machines(options.ranks, 1.0, options.bandwidth / 8, options.memory or math.inf)
    rate = options.rate or step_time.rate_of_the_paper(*size, machines)
    machines = machines._replace(rate=rate)
    return {
        "batch": size[0], "length": size[1],
        "machines": machines._asdict() | {"memory": options.memory},
        "rate_from": "as given" if options.rate else "the paper's 1.7× of ALBERT-large",
        "models": step_time.table(models, *size, machines),
    }  # fmt: skip


def amount(text):
    """The type of an option: 25G is 25e9."""
    try:
        value = float(text[:-1]) * LETTERS[text[-1]] if text[-1:] in LETTERS else float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text} is not a number above 0, such as 25G")
    return value
