"""How what a check hands to a function beside arrays is made: one module for an exercise that has such things.

A submission's process imports the module of its exercise and none of `lessons`, which hold what is right. So nothing
stands here that would help: no answer, and nothing that imports one.
"""
