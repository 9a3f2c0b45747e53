"""The mean squared error, of a task whose labels are numbers.

    loss = Σ_i (y_i - target_i)² / n                    dy_i = 2 (y_i - target_i) / n

y, targets: (...,)   loss: a 0-d array   cache: y - targets, n

`total`, a setting, replaces n where the batch is a slice of a larger one.
"""


def squared_error_forward(y, targets, total=None):
    error = y - targets
    total = total or error.size
    return (error * error).sum() / total, (error, total)


def squared_error_backward(dloss, cache):
    error, total = cache
    return error * (2 * dloss / total), None
