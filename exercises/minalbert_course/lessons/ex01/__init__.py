"""Exercise 1: finite differences and the complex step."""

from ...makers import ex01  # what checks hand out
from . import finite_differences

LESSONS = [finite_differences.lesson]
