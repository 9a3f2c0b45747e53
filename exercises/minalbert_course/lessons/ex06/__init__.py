"""Exercise 6, shared layers: the lesson, three variants of it, and the passes that all four compare."""

from . import dropout, ffn, groups, sharing

LESSONS = [sharing.lesson, groups.lesson, ffn.lesson, dropout.lesson]
