"""Exercise 1, finite differences: the lesson, the judges it marks a student's gradient check by."""

from ...makers import ex01  # what checks hand out
from . import finite_differences

LESSONS = [finite_differences.lesson]
