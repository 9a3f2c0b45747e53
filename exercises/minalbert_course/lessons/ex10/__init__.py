"""Exercise 10, LAMB, plain or corrected: two lessons of one module, and the steps of usual mistakes."""

from . import lamb

LESSONS = [lamb.lesson, lamb.variant]
