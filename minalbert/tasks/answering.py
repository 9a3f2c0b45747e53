"""A question about a text: the best answers in all windows of it, and the words that the best one depends on.

    found = answer(open_finetuned("runs/squad2"), "who has the cup ?", text)
    found.answers[0]                 # Candidate(text="ada", score=..., probability=0.81, characters=(14, 17))
    found.none                       # 0.07
"""

from typing import NamedTuple

from ..arguments import of_kind, text
from ..errors import InputError
from .finetuned import FineTuned
from .question_task import chance_of_none
from .shares import answer_decision, span_decision, word_shares
from .squad import Question
from .users_texts import as_trained


class Answered(NamedTuple):
    """The answers to one question about a text."""

    found: str                                       # empty: there is no answer
    answers: list                                    # Candidates, the best first
    none: float | None                               # the probability that there is none; None: the task has no such
    threshold: float | None                          # above this probability there is none
    context: str                                     # in which the candidates' characters are counted
    windows: int
    words: list                                      # WordShares of the window of the best answer
    notes: list


def answer(trained, question, context):
    """trained: what open_finetuned returns"""
    model, tokenizer, task, _ = of_kind("trained", trained, FineTuned)
    if task.kind not in ("span", "answer"):
        raise InputError(f"task {task.name} has no questions about a text; minalbert classify is for texts, and "
                         "minalbert predict for files")
    texts = [text("question", question), text("context", context)]
    (question, context), notes = as_trained(tokenizer, texts)
    examples = task.encode([Question("0", question, context, None)], tokenizer)
    if examples.report.cut:
        notes.append(f"the question is too long, and was cut to {task.question_length} tokens")
    (found,), (answered,) = task.predict(model, examples)
    none = threshold = None
    if task.kind == "answer":
        none, threshold = (chance_of_none(answered._replace(unanswerable=score))
                      for score in (answered.unanswerable, task.threshold))  # fmt: skip
    words = words_of(model, tokenizer, task, examples, answered.candidates[0]) if answered.candidates else []
    return Answered(found, answered.candidates, none, threshold, context, len(examples), words, notes)


def words_of(model, tokenizer, task, examples, candidate):
    """The WordShares of the window in which an answer was found."""
    number, start, end = candidate.tokens
    window = examples[number]
    if task.kind == "span":
        decision = span_decision(window.label.barred, start, end)
    else:
        decision = answer_decision(window.label.barred, start, end, model.config.layer_norm_eps)
    return word_shares(model, tokenizer, window.sequences[0], decision)
