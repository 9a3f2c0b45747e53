"""RACE, and other questions about an article of which one of several options is the answer."""

from pathlib import Path

from ..errors import DataError
from .classifier_task import ClassifierTask
from .objectives import Choices
from .race import LETTERS, read_race
from .sequences import choice_examples
from .task import Examples


class ChoiceTask(ClassifierTask):
    """choices           options of a question
    question_length   of question and option, the tokens that are kept
    """

    kind, metrics, architecture = "choice", ("accuracy",), "AlbertForMultipleChoice"

    def __init__(self, name, place, max_length, choices=4, question_length=128):
        super().__init__(name, place, max_length, choices=choices, question_length=question_length)
        self.choices, self.question_length = choices, question_length

    def objective(self):
        return Choices(self.choices)

    def read(self, split):
        path = split if isinstance(split, Path) else Path(self.place) / split
        questions = read_race(path)
        if (options := len(questions[0].options)) != self.choices:
            raise DataError(f"{path} has {options} options a question; this task has choices={self.choices}")
        return questions

    def encode(self, questions, tokenizer):
        encoded = choice_examples(questions, tokenizer, self.max_length, self.question_length)
        return Examples(encoded.examples, questions, cut=encoded.cut)

    @property
    def names(self):
        return tuple(LETTERS[: self.choices])

    def asked(self, question):
        options = [f"{letter} {option}" for letter, option in zip(self.names, question.options, strict=True)]
        return question.question, *options
