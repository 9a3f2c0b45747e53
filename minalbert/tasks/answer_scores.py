"""The scores of SQuAD, as the official scripts compute them.

A text is compared in lower case, without punctuation, articles and further spaces. A question may have several right
answers, of which the best counts; a question without an answer has the empty text as its one.
"""

import re
import string
from collections import Counter
from typing import NamedTuple

PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


class AnswerScore(NamedTuple):
    exact: float                                     # share of questions, 0 to 1
    f1: float


def normalised(text):
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact(found, right):
    return float(normalised(found) == normalised(right))


def f1(found, right):
    """2 words in common / words of both; with no word in one of them: are both without?"""
    found, right = normalised(found).split(), normalised(right).split()
    if not found or not right:
        return float(found == right)
    common = sum((Counter(found) & Counter(right)).values())
    return 2 * common / (len(found) + len(right))


def scores_of(found, rights):
    """(exact, f1) of one question. rights: its answers; none, or only ones without a word: it has no answer."""
    rights = [right for right in rights if normalised(right)] or [""]
    return max(exact(found, right) for right in rights), max(f1(found, right) for right in rights)


def score(found, rights):
    """found: {question: text}; rights: {question: [texts]}, of the same questions"""
    pairs = [scores_of(found[question], rights[question]) for question in rights]
    return AnswerScore(*(sum(column) / len(pairs) for column in zip(*pairs, strict=True)))


class Threshold(NamedTuple):
    score: float                                     # with it
    value: float                                     # questions with a higher score of "no answer" get none


def best_threshold(scores, answerable, unanswered, none):
    """The threshold of the best mean score, as SQuAD 2.0's script searches it.

    scores       {question: exact or f1 of the answer that was found}
    answerable   {question: has it an answer?}
    unanswered   {question: is what was found the empty text?}
    none         {question: the score that there is no answer}
    """
    now = best = sum(not there for there in answerable.values())
    value = 0.0
    for question in sorted(none, key=none.get):
        if answerable[question]:
            now += scores[question]
        else:
            now -= not unanswered[question]
        if now > best:
            best, value = now, none[question]
    return Threshold(best / len(scores), value)
