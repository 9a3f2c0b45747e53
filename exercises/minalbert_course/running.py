"""A check with all of its draws, and then its calls once more, in ways that no lesson has to ask for itself."""

from .draw import draws
from .interleaving import interleave
from .memory_orders import in_other_orders
from .pretended_gpu import pretending
from .scaled_upstream import with_scaled_upstream


def run_check(lesson, check, yours, term):
    """Wrong, NotWritten, Stopped or another error goes on."""
    made = []
    for draw in draws(term, lesson, check):
        check.run(yours, draw)
        made.append(yours.made[sum(map(len, made)) :])
    with pretending():
        interleave(lesson, yours.host, made)
        with_scaled_upstream(lesson, yours.host, made[1])
        if check is [other for other in lesson.checks if other.of == check.of][-1]:
            in_other_orders(lesson, yours.host, made[1])
