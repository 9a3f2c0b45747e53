"""Examples of the tasks of tiny worlds."""

from itertools import islice

from minalbert.data.tiny_worlds.tasks import examples


def made(name, split, count, seed=0):
    return list(islice(examples(name, split, seed), count))


def sentences_of(text):
    return [sentence + " ." for sentence in text.removesuffix(" .").split(" . ")]
