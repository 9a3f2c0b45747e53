def scatter_mean(shape, rows, updates):
    xp = array_module(updates)
    table = xp.zeros(shape, updates.dtype)
    for row in range(shape[0]):
        mine = updates[rows == row]
        if len(mine):
            table[row] = mine.mean(axis=0)
    return table
