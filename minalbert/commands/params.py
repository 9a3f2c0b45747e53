"""`minalbert params`: the counts of one model on a screen, or of all models in a table, or as JSON."""

from ..analysis import report
from ..arguments import whole
from ..config import PRESETS
from ..errors import ConfigError
from . import params_lines
from .options import given_fields
from .printing import print_result


def add_arguments(parser):
    parser.add_argument("--preset", default="albert-base-v2", metavar="NAME",
                        help="a model; --list shows all, and albert-base is albert-base-v2, the default")
    parser.add_argument("--embedding-size", type=int, metavar="E", help="width of an embedding")
    parser.add_argument("--sharing", help="what the layers share: all, attention, ffn or none")
    parser.add_argument("--groups", dest="num_hidden_groups", type=int, metavar="G",
                        help="groups of layers that share; one holds them all")
    parser.add_argument("--vocab-size", type=int, metavar="V", help="words in the vocabulary")
    parser.add_argument("--length", type=int, metavar="T", help="tokens in a sequence; default: all the model reads")
    parser.add_argument("--batch", type=int, metavar="B", default=32, help="sequences in a batch; default: 32")
    parser.add_argument("--list", action="store_true", help="one line for each preset and each model of the ablations")
    parser.add_argument("--json", action="store_true", help="print the same numbers as one JSON object")


def run(options):
    if options.list:
        counts = report.every_model()
        lines = params_lines.table(counts)
    else:
        preset = PRESETS.full_name(options.preset)
        config = configuration(options)
        counts = report.one_model(preset, config, length(options, config), options.batch)
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
    whole("batch", options.batch, 1, 2**40, ConfigError)
    return length
