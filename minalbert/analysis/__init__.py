"""Counts of a model: its parameters, the operations of a step, and the memory between the two passes.

These are small functions of a configuration; nothing here runs a model. `minalbert params` prints them together.
Read in this order: formulas, parameters, cost, memory, report.
"""
