"""A command that several ranks run together, started by `mpiexec -n 4 minalbert ...`."""

from ..errors import MinalbertError
from ..parallel import world
from ..parallel.ranks import end_all


def on_ranks(work):
    """The exit code of work(ranks). What all ranks raise is raised once, on rank 0; what one alone raises ends all."""
    ranks = world()
    try:
        code = work(ranks)
    except BaseException as error:
        ranks.heartbeat.say("ended-2" if isinstance(error, MinalbertError) else "failed")
        if ranks.size > 1 and error is not ranks.shared_error:
            end_all(error, 2)
        if ranks.rank == 0:
            raise
        return 2
    ranks.heartbeat.say(f"ended-{code}")
    if ranks.size > 1 and code == 130:               # stopped at once, wherever the others are
        end_all(KeyboardInterrupt(), code)
    return code
