"""The lines that `finetune --seeds N --rates A,B` prints: one for each run, and one for each rate."""

import math

from .run_lines import columns

WIDTH = 34                                           # of a run's name


def sweep_lines(found, again):
    """`again`: the command that resumes the sweep."""
    if found.code:
        yield f"{found.directory}: stopped; {again} goes on with the run that was stopped"
        return
    for run in found.runs:
        name = run.directory.removeprefix(found.directory).strip("/\\")
        yield f"{name:<{WIDTH}} best {found.metric} {score(run.score)} at step {run.step:,}{verdict(run)}"
    yield columns("rate", "runs", "median", "lowest", "highest", "failed")
    for group in found.groups:
        yield columns(f"{group.rate:g}", group.runs, *map(score, group[2:5]), f"{group.failed:.0%}")
    if constant := sum(group.constant for group in found.groups):
        yield (f"{constant} of {len(found.runs)} runs give every example the same answer: they have learnt nothing; "
               "another rate, more warm-up or more steps may help")


def score(value):
    return "-" if math.isnan(value) else f"{value:.3f}"


def verdict(run):
    if run.constant:
        return "; failed: the same answer to every example"
    guess = f"guessing scores {run.guessing:.3f}, and by chance up to {run.beyond_chance:.3f}"
    return f"; failed: {guess}" if run.failed else ""
