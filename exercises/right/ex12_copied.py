def gelu(x):
    xp = array_module(x)
    inner = xp.array(x)
    inner **= 3
    inner *= 0.044715
    inner += x
    inner *= math.sqrt(2 / math.pi)
    y = xp.array(x, copy=True)
    y *= 0.5
    y *= 1 + xp.tanh(inner)
    return y
