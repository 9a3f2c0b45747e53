"""Texts become the sequences that a model reads, cut by the rules of the released code.

    one text          [CLS] a [SEP]             its end is cut
    a pair            [CLS] a [SEP] b [SEP]     the longer one loses its last token, of two as long b, until both fit
    multiple choice   for each option [CLS] article [SEP] question and option [SEP]
                                                the last 128 tokens of question and option stay; the article is cut

The token types are 0 up to the first [SEP], and 1 after it.
"""

from typing import NamedTuple

from ..data.tokenizer import CLS, SEP
from ..errors import InputError


class Sequence(NamedTuple):
    """The tokens of a text or of two, and in which of them each is."""

    input_ids: list
    token_type_ids: list


class Example(NamedTuple):
    """What a batch is made of: `Batch.pad` over the sequences of all its examples, and an array of their labels."""

    id: str
    sequences: tuple                                 # one, or one for each option
    label: int | float | None


class Encoded(NamedTuple):
    """Examples of rows."""

    examples: list
    cut: list                                        # ids of those that lost tokens


def single(a):
    return Sequence([CLS, *a, SEP], [0] * (len(a) + 2))


def pair(a, b):
    return Sequence([CLS, *a, SEP, *b, SEP], [0] * (len(a) + 2) + [1] * (len(b) + 1))


def shortened(a, b, room):
    """Cut a pair to `room` tokens."""
    excess = len(a) + len(b) - room
    if excess <= 0:
        return a, b
    kept = max(room - len(b), min(len(a), (room + 1) // 2))         # of a: all that b leaves, or the larger half
    return a[:kept], b[: room - kept]


def text_examples(examples, tokenizer, max_length):
    """TextExamples, of one text each or of two each, Encoded."""
    check_length(max_length, 4)
    columns = [tokenizer.encode_many(texts) for texts in zip(*(each.texts for each in examples), strict=True)]
    found, cut = [], []
    for each, *ids in zip(examples, *columns, strict=True):
        whole = single(ids[0][: max_length - 2]) if len(ids) == 1 else pair(*shortened(*ids, max_length - 3))
        found.append(Example(each.id, (whole,), each.label))
        if sum(map(len, ids)) > max_length - 1 - len(ids):
            cut.append(each.id)
    return Encoded(found, cut)


def choice_examples(questions, tokenizer, max_length, question_length=128):
    """ChoiceQuestions Encoded, each as an Example of as many sequences as there are options.

    question_length   of question and option the tokens that are kept; at most half of max_length
    """
    check_length(max_length, 8)
    question_length, articles, found, cut = min(question_length, max_length // 2), {}, [], []
    for question in questions:
        if question.article not in articles:
            articles[question.article] = tokenizer.encode(question.article)
        article = articles[question.article]
        ends = tokenizer.encode_many([with_option(question.question, option) for option in question.options])
        kept = [ids[-question_length:] for ids in ends]
        sequences = tuple(pair(article[: max_length - 3 - len(end)], end) for end in kept)
        found.append(Example(question.id, sequences, question.label))
        longest = max(map(len, ends))
        if longest > question_length or len(article) + longest > max_length - 3:
            cut.append(question.id)
    return Encoded(found, cut)


def with_option(question, option):
    """The option in place of each _, or after the question."""
    return question.replace("_", option) if "_" in question else f"{question} {option}"


def check_length(max_length, least):
    if max_length < least:
        raise InputError(f"max_length is {max_length}; it must be at least {least}")
