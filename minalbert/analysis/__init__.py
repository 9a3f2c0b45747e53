"""Counts of a model: its parameters, the operations of a step, and the memory between the two passes.

Counts are small functions of a configuration; they run no model, and `minalbert params` prints them together.
`smoothness` measures what a model's layers do.
Read in this order: formulas, parameters, cost, step_time, memory, memory_for_time, report; then smoothness.
"""

from . import cost, formulas, memory, memory_for_time, parameters, report, smoothness, step_time
