"""`minalbert tokenizer train | show`: train a vocabulary, and split texts with it."""

import sys
from pathlib import Path

from tqdm import tqdm

from ..data.documents import LAYOUTS, read_documents
from ..data.normalise import Normaliser
from ..data.sentencepiece_tokenizer import DIGIT_COMMAS, recipe_path
from ..data.sentencepiece_training import SAMPLE, train
from ..data.tokenizer import SPECIALS
from ..data.tokenizers import load_tokenizer
from ..errors import DataError
from .printing import printable


def add_arguments(parser):
    commands = parser.add_subparsers(metavar="train | show", required=True)

    command = commands.add_parser("train", help="make a vocabulary from text, with ALBERT's settings")
    command.add_argument("files", nargs="+", help="files, directories, globs, or - for standard input")
    command.add_argument("--vocab-size", type=int, required=True, metavar="N", help="ALBERT has 30000")
    command.add_argument("--out", required=True, metavar="FILE", help="usually spiece.model; a recipe goes beside it")
    command.add_argument("--layout", choices=LAYOUTS, default="lines", help="default: lines, a sentence a line")
    command.add_argument("--sample", type=int, default=SAMPLE, metavar="N",
                         help="train on N sentences of the text; default: 10,000,000")
    command.add_argument("--threads", type=int, default=1, help="a vocabulary depends on their number; default: 1")
    command.add_argument("--seed", type=int, default=0, help="seed of the sample; default: 0")
    command.add_argument("--cased", action="store_true", help="keep capitals; ALBERT lowers them")
    command.add_argument("--quotes", action="store_true", help="write `` and '' as \", as transformers does")
    command.add_argument("--digit-commas", choices=DIGIT_COMMAS, default="intended",
                         help="how 2,000 is taken apart; default: intended")
    command.set_defaults(action=run_train)

    command = commands.add_parser("show", help="a vocabulary's size and special ids, and the pieces of texts")
    command.add_argument("model", help="spiece.model, ours or a released one, or our word list in .json")
    command.add_argument("text", nargs="*", help="[word] in the answer, its pieces apart by |")
    command.set_defaults(action=run_show)


def run(options):
    return options.action(options)


def run_train(options):
    if options.out.endswith(".json"):
        raise DataError(f"{options.out} ends in .json, as word lists do; give it another name, such as spiece.model")
    documents = read_documents(options.files, options.layout)
    with tqdm(unit=" sentences", unit_scale=True, leave=False, disable=None) as bar:
        tokenizer = train(progress(documents, bar), options.vocab_size, options.threads, options.sample, options.seed,
                          Normaliser(lower=not options.cased, quotes=options.quotes), options.digit_commas)
    tokenizer.save(options.out)
    recipe = tokenizer.recipe
    print(f"{options.out}: {tokenizer.vocab_size:,} pieces from {recipe['sampled']:,} of {recipe['sentences']:,} "
          f"sentences; recipe in {recipe_path(options.out).name}")
    if recipe["left_out_as_too_long"]:
        print(f"{recipe['left_out_as_too_long']:,} of them were left out as too long", file=sys.stderr)
    return 0


def progress(documents, bar):
    bar.set_description("reading")
    for document in documents:
        yield from document.sentences
        bar.update(len(document.sentences))
    bar.set_description("training")
    bar.refresh()


def run_show(options):
    tokenizer = load_tokenizer(options.model)
    lines = [
        f"{Path(options.model).name}: {tokenizer.vocab_size:,} pieces, {int(tokenizer.word_starts.sum()):,} of them "
        f"begin a word; digest {tokenizer.digest[:12]}",
        "special ids: " + "  ".join(f"{piece} {i}" for i, piece in enumerate(SPECIALS)),
    ]
    for text in options.text:
        ids = tokenizer.encode(text)
        lines += ["", " ".join(words(tokenizer, ids)), " ".join(map(str, ids))]
    print(printable("\n".join(lines)))
    return 0


def words(tokenizer, ids):
    """[▁the] [▁un|aff|able]: the words that whole-word masking masks together."""
    word = []
    for i in ids:
        if word and tokenizer.word_starts[i]:
            yield f"[{'|'.join(word)}]"
            word = []
        word.append(tokenizer.pieces[i])
    if word:
        yield f"[{'|'.join(word)}]"
