"""Counting: where the parameters are, what a step costs, what stays in memory between the two passes.

Small functions of a configuration; nothing here runs a model. `minalbert params` prints them together.
Read in this order: formulas, parameters, cost, memory, report.
"""
