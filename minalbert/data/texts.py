"""The shards of a corpus as one text: documents are numbered through all shards.

A large corpus stays in its files, so nothing here may read a whole shard of it.
"""

import numpy as np


class Texts:
    def __init__(self, shards):
        self.tokens = [shard.tokens for shard in shards]
        self.sentences = [shard.sentences for shard in shards]
        self.documents = [shard.documents for shard in shards]
        self.topics = [shard.topics for shard in shards]
        self.in_memory = all(isinstance(tokens, np.ndarray) for tokens in self.tokens)
        counts = [len(documents) - 1 for documents in self.documents]
        self.first_document = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @property
    def document_count(self):
        return int(self.first_document[-1])

    def shard_of(self, document):
        return np.searchsorted(self.first_document, document, "right") - 1

    def sentences_of(self, document):
        """(D,) document numbers -> their shards, first sentences and the sentences past their last."""
        shard = self.shard_of(document)
        local = document - self.first_document[shard]
        return shard, _pick(self.documents, shard, local), _pick(self.documents, shard, local + 1)

    def begins(self, shard, sentence):
        """The first tokens of sentences, counted in their shard. `shard` and `sentence` have one shape."""
        return _pick(self.sentences, shard, sentence)

    def read(self, shard, start, stop):
        """The tokens start..stop-1 of each shard, one piece after the other."""
        if self.in_memory:
            pieces = zip(shard.tolist(), start.tolist(), stop.tolist(), strict=True)
            return np.concatenate([self.tokens[number][first:last] for number, first, last in pieces])
        pieces = np.empty(len(shard), object)
        for number in np.unique(shard):
            here = np.flatnonzero(shard == number)
            for place, piece in zip(here, self.tokens[number].slices(start[here], stop[here]), strict=True):
                pieces[place] = piece
        return np.concatenate(pieces)


def _pick(arrays, which, index):
    """arrays[which[i]][index[i]], of any shape."""
    if not isinstance(arrays[0], np.ndarray):
        found = np.empty(which.shape, np.int64)
        for number in np.unique(which):
            here = which == number
            found[here] = arrays[number].at(index[here])
        return found
    if len(arrays) == 1:
        return arrays[0][index].astype(np.int64)
    pairs = zip(which.ravel().tolist(), index.ravel().tolist(), strict=True)
    return np.array([arrays[number][place] for number, place in pairs], np.int64).reshape(which.shape)
