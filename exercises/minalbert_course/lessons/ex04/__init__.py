"""Exercise 4, GELU by tanh or by erf: two lessons, the points both test at, the mistakes known."""

from . import erf, gelu

LESSONS = [gelu.lesson, erf.variant]
