"""Exercises that mark themselves.

    minalbert exercise start ex05            write ex05_attention.py, a file with bodies to fill in
    minalbert exercise check ex05            points, and why they are missing
    pytest -m ex05                           the same, one test for each check

An exercise is a `Lesson`: the functions it asks for, and checks, each worth points. A check calls the student's
functions with numbers from a `CheckDraw` and compares what comes back. The student's own machine, pytest, a notebook,
and a grader of a thousand submissions run the same checks; they differ in the draws (a term's secret chooses those of
the grader) and in where the student's code runs (here, or in a fenced process of its own).

This package uses the library; the library does not know it. Two entry points connect them: the commands `exercise` and
`grade` (`commands`), and a student's functions in a training run (`your_code`).

Read in this order: lesson, draw, compare, values, calls, yours, here, copying, shared_memory, running, marking, report,
handout, files, your_code, milestones. Packages: `lessons`, the exercises; `again`, the questions that `running` asks of
every exercise; `causes`, why an answer is wrong; `state`, what a file can keep between calls; `makers`, what checks
hand out; `outside`, numbers of other libraries; `grade`, a batch of submissions, each in a fenced process.
"""

from .compare import Wrong, equal, same
from .draw import CheckDraw
from .given import Given
from .lesson import Lesson
from .marking import check
