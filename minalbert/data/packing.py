"""Documents become four flat arrays: the tokens, where each sentence and each document begins, the topics.

    tokens     the ids of all sentences, one after the other
    sentences  sentence s is tokens[sentences[s] : sentences[s + 1]]
    documents  document d is made of sentences documents[d] ... documents[d + 1] - 1
    topics     one number for each document, -1 if it is not known

A sentence without tokens and a document without sentences are left out.
"""

from array import array
from itertools import chain

import numpy as np

from ..errors import DataError

SENTENCES_AT_ONCE = 1000                             # for each call of the tokenizer, which starts a thread
LARGEST_UINT32 = 2**32 - 1


def token_dtype(vocab_size):
    return np.dtype("<u2" if vocab_size <= 65_535 else "<u4")


def offset_dtype(last):
    return np.dtype("<u4" if last <= LARGEST_UINT32 else "<u8")


class Packer:
    """Takes documents one at a time, passes their tokens to `write` and keeps only the offsets."""

    def __init__(self, tokenizer, write):
        self.tokenizer = tokenizer
        self.write = write
        self.dtype = token_dtype(tokenizer.vocab_size)
        self.tokens = 0
        self._sentences = array("Q", [0])
        self._documents = array("Q", [0])
        self._topics = array("i")
        self._waiting = []                           # sentences, of a long document or of many short ones
        self._ends = []                              # (how many were waiting when a document ended, its topic)

    def add(self, document):
        for sentence in document.sentences:
            self._waiting.append(sentence)
            if len(self._waiting) == SENTENCES_AT_ONCE:
                self._encode()
        self._ends.append((len(self._waiting), -1 if document.topic is None else document.topic))

    def _encode(self):
        encoded = self.tokenizer.encode_many(self._waiting)
        start = 0
        for end, topic in self._ends:
            self._measure(encoded[start:end])
            self._end_document(topic)
            start = end
        self._measure(encoded[start:])
        self.write(np.fromiter(chain.from_iterable(encoded), self.dtype))
        self._waiting, self._ends = [], []

    def _measure(self, sentences):
        for ids in sentences:
            if ids:
                self.tokens += len(ids)
                self._sentences.append(self.tokens)

    def _end_document(self, topic):
        if self._documents[-1] < len(self._sentences) - 1:
            self._documents.append(len(self._sentences) - 1)
            self._topics.append(topic)

    def finish(self):
        """Write the last tokens; returns the arrays sentences, documents and topics."""
        self._encode()
        sentences = np.array(self._sentences, offset_dtype(self.tokens))
        documents = np.array(self._documents, offset_dtype(len(sentences) - 1))
        return sentences, documents, np.array(self._topics, "<i4")


def pack(documents, tokenizer):
    """(tokens, sentences, documents, topics), in memory."""
    pieces = []
    packer = Packer(tokenizer, pieces.append)
    for document in documents:
        packer.add(document)
    offsets = packer.finish()
    if not packer.tokens:
        raise DataError("the corpus is empty: no document has a sentence with a token in it")
    return np.concatenate(pieces), *offsets
