"""Exercise 12, one code for two devices, or guards without transfers: two lessons, and what both count."""

from . import guard, on_cupy

LESSONS = [on_cupy.lesson, guard.variant]
