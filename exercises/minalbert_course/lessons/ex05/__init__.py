"""Exercise 5, attention, or attention with grouped heads: two lessons, and what both compare."""

from . import attention, groups

LESSONS = [attention.lesson, groups.variant]
