"""`minalbert corpus generate | show`: stories of tiny worlds as text, or one of them with its labels."""

import sys
from contextlib import contextmanager
from dataclasses import fields

from tqdm import tqdm

from ..arguments import whole
from ..data.tiny_worlds import TinyWorlds, words_of_sentence
from ..errors import DataError
from ..files import AtomicFile

HELP = {
    "seed": "another seed, other stories",
    "ring_fraction": "share of stories whose steps have no absolute place",
    "topic_strength": "at 0, only the verbs reveal a story's topic",
    "order_strength": "share of stories in order; the steps of the others are shuffled",
    "lexicon_scale": "how many times the base vocabulary, up to 5.1",
    "p_conn": "connectives that do not depend on the order",
    "p_true_conn": "connectives that do depend on it: a planted shortcut",
    "p_fill": "weather, feelings, passers-by",
    "p_pron": "she, he and it instead of a name",
    "p_branch": "stories in which a condition swaps two blocks",
    "p_handover": "stories in which an item goes from hand to hand",
    "hops": "number of times; 0: once to six times",
    "p_long": "stories of two episodes",
    "p_place": "sentences that begin with a place",
    "p_adverb": "sentences with an adverb",
    "p_adjective": "nouns with an adjective",
}


def add_arguments(parser):
    commands = parser.add_subparsers(metavar="generate | show", required=True)

    command = commands.add_parser("generate", help="a sentence a line, a blank line between stories")
    command.add_argument("--stories", type=int, required=True, metavar="N", help="how many")
    command.add_argument("--start", type=int, default=0, metavar="I", help="the first one's number; default: 0")
    command.add_argument("--out", required=True, metavar="FILE", help="- for standard output")
    command.add_argument("--words", action="store_true", help="lower case, words and full stops apart")
    command.set_defaults(action=run_generate)
    add_knobs(command)

    command = commands.add_parser("show", help="one story with its labels")
    command.add_argument("--index", type=int, default=0, metavar="I", help="the story's number; default: 0")
    command.set_defaults(action=run_show)
    add_knobs(command)


def add_knobs(command):
    for field in fields(TinyWorlds):
        name = "--" + field.name.replace("_", "-")
        if field.name == "entity_cues":
            command.add_argument("--no-entity-cues", dest="entity_cues", action="store_false",
                                 help="nothing reveals what was named before: always the, never she")
        else:
            command.add_argument(name, type=type(field.default), default=field.default, metavar="X",
                                 help=f"{HELP[field.name]}; default: {field.default}")


def run(options):
    return options.action(options)


def world_of(options):
    return TinyWorlds(**{field.name: getattr(options, field.name) for field in fields(TinyWorlds)})


def run_generate(options):
    world = world_of(options)
    whole("stories", options.stories, 1, error=DataError)
    whole("start", options.start, error=DataError)
    numbers = range(options.start, options.start + options.stories)
    spelling = words_of_sentence if options.words else str
    with opened(options.out) as write:
        for index in tqdm(numbers, unit=" stories", leave=False, disable=None):
            blank = "\n" if index > options.start else ""
            write(blank + "".join(spelling(text) + "\n" for text in world.story(index).sentences))
    return 0


@contextmanager
def opened(path):
    """Yield a function that writes text: to standard output, or to a file, which is whole in the end or not there."""
    if path == "-":
        yield sys.stdout.write
    else:
        with AtomicFile(path) as file:
            yield lambda text: file.write(text.encode())


def run_show(options):
    world = world_of(options)
    print(world.story(options.index))
    return 0
