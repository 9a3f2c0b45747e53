"""Sentences whose words have labels: a word, a tab and its label a line, and an empty line between two sentences.

    ada     NAME
    fell    VERB
    .       SIGN

    she     PRONOUN
    ...

A file without labels has the words alone.
"""

from typing import NamedTuple

from .text_files import read_lines, refused


class LabelledWords(NamedTuple):
    """A sentence."""

    id: str                                          # its number in the file, from 0
    words: tuple
    labels: tuple | None                             # numbers, one for each word; None: the file has none


def read_labelled_words(path, names):
    """A file's LabelledWords. names: of the labels, in the order of their numbers"""
    found = []
    for sentence in sentences_of(path):
        words, labels = zip(*((word, label) for _, word, label in sentence), strict=True)
        for line, _, label in sentence:
            if label is not None and label not in names:
                raise refused(path, line, f"the label is {label[:40]!r}; it must be one of: {', '.join(names)}")
        numbers = None if labels[0] is None else tuple(map(names.index, labels))
        found.append(LabelledWords(str(len(found)), words, numbers))
    return found


def find_word_labels(path):
    """The names of a file's labels, sorted."""
    found = {label for sentence in sentences_of(path) for _, _, label in sentence}
    if None in found:
        raise refused(path, 1, "there is no tab; a file to train on must have a label after each word")
    if len(found) < 2:
        raise refused(path, 1, f"there is only the label {min(found)[:40]!r}; there must be two or more")
    return tuple(sorted(found))


def sentences_of(path):
    """Lists of (line, word, label or None), one for each sentence."""
    lines = read_lines(path)
    labelled = next("\t" in text for _, text in lines if text.strip())
    sentences = [[]]
    for line, text in lines:
        if text.strip():
            sentences[-1].append((line, *word_of(path, line, text, labelled)))
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def word_of(path, line, text, labelled):
    """(word, label or None) of a line."""
    word, *rest = text.split("\t")
    if len(rest) != labelled:
        wanted = "one tab between word and label" if labelled else "none, as in the lines before"
        raise refused(path, line, f"there are {len(rest)} tabs; there must be {wanted}")
    for name, value in (("word", word), *(("label", label) for label in rest)):
        if not value.strip():
            raise refused(path, line, f"the {name} is empty; a line must have one, and an empty line ends a sentence")
    return word, rest[0] if labelled else None
