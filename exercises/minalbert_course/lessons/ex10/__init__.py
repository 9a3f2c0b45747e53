"""Exercise 10: LAMB. Variant: LAMB with bias correction and a clamped ratio."""

from . import lamb

LESSONS = [lamb.lesson, lamb.variant]
