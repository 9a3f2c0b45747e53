"""All tokenizers, and which of them a file holds."""

from .. import arguments
from ..errors import DataError
from .sentencepiece_tokenizer import SentencePieceTokenizer
from .word_tokenizer import WordTokenizer

TOKENIZERS = (SentencePieceTokenizer, WordTokenizer)
FILE_NAMES = tuple(kind.file_name for kind in TOKENIZERS)


def load_tokenizer(path):
    """Load a word list, if the name ends in .json, or else a sentencepiece model, ours or a released one."""
    path = arguments.path_of("path", path, DataError)
    if path.suffix == ".json":
        return WordTokenizer.load(path)
    return SentencePieceTokenizer.load(path)
