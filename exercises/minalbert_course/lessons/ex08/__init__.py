"""Exercise 8, masked words and sentence order, or next sentences: two lessons, and the chances both test."""

from . import data, nsp

LESSONS = [data.lesson, nsp.variant]
