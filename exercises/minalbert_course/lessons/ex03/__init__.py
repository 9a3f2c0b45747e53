"""Exercise 3, layer normalisation, or RMS normalisation: two lessons, and what both compare."""

from . import layer_norm, rms

LESSONS = [layer_norm.lesson, rms.variant]
