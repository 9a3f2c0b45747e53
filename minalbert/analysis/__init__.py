"""Counts of a model: its parameters, the operations of a step, and the memory between the two passes.

Counts are small functions of a configuration; they run no model, and `minalbert params` prints them together.
`smoothness` measures what a model's layers do.
Read in this order: formulas, parameters, cost, memory, report; then smoothness.
"""

from . import cost, formulas, memory, parameters, report, smoothness
