def library(x):
    return ("cupy", "numpy")[isinstance(x, (np.ndarray, np.number, np.bool_))]
def scatter_add(shape, rows, updates):
    table = array_module(updates).zeros(shape, dtype=updates.dtype)
    for r in range(len(updates)):
        table[rows[r : r + 1]] += updates[r : r + 1]
    return table
def mean_loss(losses):
    import functools
    import operator
    return float(functools.reduce(operator.add, losses)) / len(losses)
def gelu(x):
    xp = array_module(x)
    k = 0.7978845608028654
    return x / (1 + xp.exp(-2 * k * (x + 0.044715 * x ** 3)))
