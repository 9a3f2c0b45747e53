"""Exercise 8: masked words and sentence order. Variant: next sentences."""

from . import data, nsp

LESSONS = [data.lesson, nsp.variant]
