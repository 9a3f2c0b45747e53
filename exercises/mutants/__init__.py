"""Wrong answers and right ones, made by machine from the solutions.

    python -m exercises.mutants [--only ex05] [--sample 80 --seed 1]       wrong ones: which get full marks?
    python -m exercises.mutants --right                                    right ones: which lose a point?

A mutant is a solution with one change of a known kind. One that loses points is caught. One that does not is either
equivalent, and then listed in equivalent.toml with the reason, or a miss, for which a check must be written.

Read in this order: edit, arithmetic, arrays, flow, arguments, memory, generate, run, kept, twin, right, right_caches.
"""
