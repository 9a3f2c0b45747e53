"""All tokenizers, and which of them a file holds."""

from .. import arguments
from ..errors import DataError
from .sentencepiece_tokenizer import SentencePieceTokenizer
from .word_tokenizer import WordTokenizer

TOKENIZERS = (SentencePieceTokenizer, WordTokenizer)
FILE_NAMES = tuple(kind.file_name for kind in TOKENIZERS)


def load_tokenizer(path, advice=""):
    """Load a sentencepiece model, ours or a released one, or a word list, whose name ends in .json.

    advice: what to do if the file is missing or damaged.
    """
    path = arguments.path_of("path", path, DataError)
    if path.suffix == ".json":
        return WordTokenizer.load(path, advice)
    return SentencePieceTokenizer.load(path, advice)
