"""The paper, table by table: which of its claims show in small models, on generated stories, on two cores?

Each claim has a file. It says what the paper claims, what is changed and what is held equal, what is measured, and by
which rule the result is judged. The rule was written before the runs, and a verdict that does not show stands.

    counts, speed                      parameters and operations: exact, so that nothing is trained
    embedding_size, sharing, pair_loss, collisions, dropout, depth, width, smoothness
                                       what is trained: arms, each with several seeds
    tables                             all of them

Common to all: experiment (what such a file has), common (a recipe that many of them change), cells (the runs that a
table asks for), running (make them, again and again after a kill, and none twice), worlds (stories to train on and to
be judged by), linear_probe, results (lines of JSON; those of the repository are in `results/`), intervals (means,
differences, verdicts), report (a table, the page).

The files are in the package because `minalbert reproduce` runs them wherever the library is installed, and because
one who has installed it has the stored results beside them.
"""
