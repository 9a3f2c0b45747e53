"""Exercise 4: tanh and GELU. Variant: GELU with the error function."""

from . import erf, gelu

LESSONS = [gelu.lesson, erf.variant]
