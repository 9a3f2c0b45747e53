"""The scores of SQuAD, as the official scripts compute them.

A text is compared in lower case, without punctuation, articles and further spaces. A question may have several right
answers, of which the best counts. The two scripts differ in texts of which nothing is left, such as "the":

    1.1    F1 is 0 where no word is in both, even if both are empty; the exact match of two empty texts is 1
    2.0    F1 is 1 where both are empty; a right answer of which nothing is left is none, and a question without an
           answer has the empty text as its one
"""

import re
import string
from collections import Counter
from typing import NamedTuple

PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLES = re.compile(r"\b(a|an|the)\b")


class AnswerScore(NamedTuple):
    """Means over questions."""

    exact: float                                     # share of questions, 0 to 1
    f1: float


def normalised(text):
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact(found, right):
    return float(normalised(found) == normalised(right))


def f1(found, right):
    """2 words in common / words of both; 0 without a word in common"""
    found, right = normalised(found).split(), normalised(right).split()
    common = sum((Counter(found) & Counter(right)).values())
    return 2 * common / (len(found) + len(right)) if common else 0.0


def scores_of_version_1(found, rights):
    """(exact, f1) of one question of SQuAD 1.1. rights: its answers, one or more"""
    return max(exact(found, right) for right in rights), max(f1(found, right) for right in rights)


def scores_of(found, rights):
    """(exact, f1) of one question of SQuAD 2.0. rights: its answers; none, or only ones without a word: it has none."""
    rights = [right for right in rights if normalised(right)]
    return scores_of_version_1(found, rights) if rights else (exact(found, ""),) * 2


def score(found, rights, scores_of=scores_of):
    """found: {question: text}; rights: {question: [texts]}, of the same questions; scores_of: by which script"""
    pairs = [scores_of(found[question], rights[question]) for question in rights]
    return AnswerScore(*(sum(column) / len(pairs) for column in zip(*pairs, strict=True)))


class Threshold(NamedTuple):
    """The best threshold of a search, and the score with it."""

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
