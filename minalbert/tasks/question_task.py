"""SQuAD 1.1 and 2.0: the answer to a question is a part of its context, in 2.0 perhaps none."""

from itertools import groupby
from pathlib import Path

import numpy as np

from ..backend import to_device, to_host
from ..errors import DataError
from ..model.answer import answer_forward, start_forward
from ..model.tasks import span_forward
from .answer_scores import best_threshold, score, scores_of, scores_of_version_1
from .decoding import beam_pairs, beam_starts, found_answer, span_pairs
from .objectives import Answers, AnswerSpans, MaybeAnswers
from .squad import read_squad
from .task import DownstreamTask, Examples, Predictions
from .windows import make_windows


class QuestionTask(DownstreamTask):
    """question_length   of the question, the tokens that are kept
    stride            tokens from the beginning of a window to that of the next
    """

    version: str                                     # in the names of its files
    scores_of = staticmethod(scores_of)              # (exact, f1) of one question

    def __init__(self, name, place, max_length, question_length=64, stride=128, **settings):
        super().__init__(name, place, max_length, question_length=question_length, stride=stride, **settings)
        self.question_length, self.stride = question_length, stride

    def read(self, split):
        return read_squad(split if isinstance(split, Path) else Path(self.place) / f"{split}-{self.version}.json")

    def encode(self, questions, tokenizer):
        found = make_windows(questions, tokenizer, self.max_length, self.question_length, self.stride)
        return Examples(found.windows, questions, cut=found.cut, unplaced=found.unplaced)

    def labels(self, items, length):
        barred = np.ones((len(items), length), bool)
        for row, item in zip(barred, items, strict=True):
            row[: len(item.label.barred)] = item.label.barred
        spans, impossible = (np.array([getattr(item.label, name) for item in items]) for name in ("span", "impossible"))
        return Answers(spans, barred, impossible)

    def reader(self, model, examples):
        def read_off(hidden, numbers):
            barred = np.stack([examples[i].label.barred for i in numbers])   # of one length
            return self.pairs(hidden, model, to_device(barred, model.params.device))

        return read_off

    def pairs(self, hidden, model, barred):
        """For each window (its pairs of start, end and score, the score that there is no answer)."""
        raise NotImplementedError

    def predictions(self, found, examples):
        windows = {id: [*its] for id, its in groupby(zip(examples, found, strict=True), key=lambda pair: pair[0].id)}
        answers = []
        for question in examples.rows:
            own, results = zip(*windows[question.id], strict=True)
            pairs, none = zip(*results, strict=True)
            answers.append(found_answer(question, own, pairs, None if None in none else none))
        return Predictions([self.text(answer) for answer in answers], answers)

    def text(self, answer):
        return answer.text

    def is_labelled(self, question):
        return question.answers is not None

    def written(self, found):
        return found

    def right(self, question):
        return question.answers[0].text if question.answers else ""

    def asked(self, question):
        return question.question, question.context

    def probabilities(self, predictions):
        """Among the candidates for an answer."""
        return [answer.candidates[0].probability if answer.candidates else 0.0 for answer in predictions.scores]

    def losses(self, predictions, examples):
        """1 - F1"""
        rights = self.rights(examples)
        return np.array([1 - self.scores_of(text, rights[row.id])[1]
                         for text, row in zip(predictions.found, examples.rows, strict=True)])  # fmt: skip

    def rights(self, examples):
        """{id: texts of the right answers}"""
        self.check_labels(examples)
        return {question.id: [answer.text for answer in question.answers] for question in examples.rows}


class SpanTask(QuestionTask):
    """SQuAD 1.1: each question has an answer."""

    kind, version, metrics = "span", "v1.1", ("f1", "exact")
    architecture = "AlbertForQuestionAnswering"
    scores_of = staticmethod(scores_of_version_1)

    def objective(self):
        return AnswerSpans()

    def read(self, split):
        questions = super().read(split)
        for question in questions:
            if question.impossible:
                raise DataError(f"question {question.id!r} has no answer, and {self.name} gives one to each; squad2 "
                                "is the task with such questions")  # fmt: skip
        return questions

    def pairs(self, hidden, model, barred):
        return [(span_pairs(scores), None) for scores in to_host(span_forward(hidden, model.params, barred)[0])]

    def score(self, predictions, examples):
        rights = self.rights(examples)
        scores = score(dict(zip(rights, predictions.found, strict=True)), rights, self.scores_of)
        return {name: getattr(scores, name) for name in self.metrics}


class AnswerTask(QuestionTask):
    """threshold   questions with a higher score that there is no answer get none"""

    kind, version, metrics = "answer", "v2.0", ("best_f1", "best_exact", "f1", "exact", "threshold")

    def __init__(self, name, place, max_length, question_length=64, stride=128, threshold=0.0):
        super().__init__(name, place, max_length, question_length, stride, threshold=threshold)
        self.threshold = threshold

    def facts_after(self, scores):
        return self.facts | ({} if scores is None else {"threshold": scores["threshold"]})

    def objective(self):
        return MaybeAnswers()

    def pairs(self, hidden, model, barred):
        starts = beam_starts(to_host(start_forward(hidden, model.params, ~barred)[0]))
        read = to_device(starts, model.params.device)
        scores, _ = answer_forward(hidden, model.params, barred, read, model.config.layer_norm_eps)
        rows = zip(to_host(scores.start), starts, to_host(scores.end), to_host(scores.unanswerable), strict=True)
        return [(beam_pairs(start, its, end), none) for start, its, end, none in rows]

    def text(self, answer):
        return "" if answer.unanswerable > self.threshold else answer.text

    def probabilities(self, predictions):
        """Where there is no answer, of that; else among the candidates."""
        none = [chance_of_none(answer) for answer in predictions.scores]
        return [found if text else one for text, found, one in
                zip(predictions.found, super().probabilities(predictions), none, strict=True)]  # fmt: skip

    def classes(self, predictions, examples):
        right, found = (np.array([int(not text) for text in texts]) for texts in
                        (map(self.right, examples.rows), predictions.found))  # fmt: skip
        return ("answer", "none"), right, found

    def score(self, predictions, examples):
        """f1 and exact with the task's threshold; best_f1 and best_exact with the best for each, threshold for F1."""
        rights = self.rights(examples)
        found = dict(zip(rights, predictions.found, strict=True))
        answers = dict(zip(rights, predictions.scores, strict=True))
        each = {id: scores_of(answer.text, rights[id]) for id, answer in answers.items()}
        answerable = {id: bool(texts) for id, texts in rights.items()}
        unanswered = {id: not answer.text for id, answer in answers.items()}
        none = {id: answer.unanswerable for id, answer in answers.items()}
        best = [best_threshold({id: scores[i] for id, scores in each.items()}, answerable, unanswered, none)
                for i in (0, 1)]  # fmt: skip
        plain = score(found, rights)
        return {"best_f1": best[1].score, "best_exact": best[0].score, "f1": plain.f1, "exact": plain.exact,
                "threshold": best[1].value}  # fmt: skip


def chance_of_none(answer):
    """The probability that a question has no answer. answer: a FoundAnswer"""
    return float(1 / (1 + np.exp(-answer.unanswerable)))
