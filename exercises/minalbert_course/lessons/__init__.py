"""The exercises, a package each, and what they share.

`exNN.LESSONS` has the lesson of an exercise and those of its variants: what each asks for, how each part is checked.
Beside the lessons stand what they use: points to test at, references, known mistakes and their causes.
"""
