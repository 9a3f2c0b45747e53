"""Exercise 11, training, or an average of weights: two lessons, and the runs both compare."""

from . import average, training

LESSONS = [training.lesson, average.variant]
