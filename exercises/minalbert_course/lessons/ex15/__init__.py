"""Exercise 15, answers in a text: the lesson, the points it tests at, the mistakes known."""

from . import spans

LESSONS = [spans.lesson]
