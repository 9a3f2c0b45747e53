"""Exercise 12, one code for two devices, or guards without transfers: two lessons, and what both count."""

from ...makers import ex12  # what checks hand out
from . import guard, on_cupy

LESSONS = [on_cupy.lesson, guard.variant]
