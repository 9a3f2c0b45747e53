"""Real text in the place of stories: the documents of a folder, most to train on, the others to be judged by.

    PLACE/texts/text.json              which text it is
    PLACE/texts/0123456789ab/train     corpora, and so judged, probed; all with one vocabulary

The vocabulary is trained on the documents to train on, and has half as many pieces as they have words, 2,000 at most.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ..data import sentencepiece_training
from ..data.build import build
from ..data.documents import read_documents
from ..data.sources import ReadText
from ..errors import DataError
from ..files import read_json, write_atomically

ROLES = ("judged", "probed", *["train"] * 6)         # of eight documents, one after the other
MOST_PIECES, FEWEST_DOCUMENTS = 2000, 24
FACTS = "text.json"


@dataclass(frozen=True)
class RealText:
    """The text of a folder, as TinyWorlds are the stories of a seed. A seed chooses the part of it: see `worlds`."""

    digest: str                                      # SHA-256 of all sentences
    pieces: int                                      # of the vocabulary
    seed: int = 0

    @property
    def key(self):
        """What a result depends on."""
        return {"seed": self.seed, "text": self.digest, "pieces": self.pieces}

    def directory(self, place, role):
        """The corpus of its documents with this role."""
        found = Path(place) / "texts" / self.digest[:12] / role
        if not found.is_dir():
            raise DataError(f"{place} has no text to train on; name a folder of text files: --text FOLDER")
        return found


def prepare(place, folder, layout):
    """Build the corpora of a folder's documents in a place. Returns its RealText."""
    documents = list(read_documents([folder], layout))
    if len(documents) < FEWEST_DOCUMENTS:
        raise DataError(f"{folder} has {len(documents)} documents; it must have {FEWEST_DOCUMENTS} at least, so that "
                        "some can be kept apart, and --layout says where one ends")
    parts = {role: [] for role in ROLES}
    for number, document in enumerate(documents):
        parts[ROLES[number % len(ROLES)]].append(document)
    sentences = [sentence for document in parts["train"] for sentence in document.sentences]
    words = len({word for sentence in sentences for word in sentence.split()})
    texts = RealText(digest_of(documents), min(MOST_PIECES, words // 2))
    tokenizer = sentencepiece_training.train(sentences, texts.pieces)
    directory = Path(place) / "texts"
    for role, some in parts.items():
        (directory / texts.digest[:12]).mkdir(parents=True, exist_ok=True)
        build([ReadText(role, tuple(some))], tokenizer, directory / texts.digest[:12] / role)
    write_atomically(directory / FACTS, json.dumps(dataclasses.asdict(texts)).encode())
    return texts


def digest_of(documents):
    return hashlib.sha256(repr([document.sentences for document in documents]).encode()).hexdigest()


def texts_of(place):
    """The RealText that were prepared in a place, or None."""
    path = Path(place) / "texts" / FACTS
    return RealText(**read_json(path, "name the folder again: --text FOLDER")) if path.exists() else None
