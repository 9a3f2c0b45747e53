"""Exercise 1, finite differences: the lesson, the judges it marks a student's gradient check by."""

from . import finite_differences

LESSONS = [finite_differences.lesson]
