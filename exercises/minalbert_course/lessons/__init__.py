"""The exercises and what they share.

`exNN_name` has the lesson of an exercise or of a variant, in `LESSONS`: what it asks for, and how each part is checked.
The other modules have what these use: points to test at, references, known mistakes and their causes.
"""
