def scatter_add(shape, rows, updates):
    xp = array_module(updates)
    table = xp.zeros(shape, updates.dtype)
    for row in range(shape[0]):
        table[row] = updates[rows == row].sum(axis=0)
    return table
