"""Is a hand-written gradient right? Ask the function itself, entry by entry.

    from minalbert.gradcheck import check_pair
    print(check_pair(gelu_forward, gelu_backward, {"x": x}))

`pytest --gradcheck` and `minalbert gradcheck` run every pair and the whole model through the same checks.
Read in this order: numeric, compare, checks, diagnose, cases, plugin.
"""

from .checks import check_model, check_pair
from .compare import GradientError, Report
