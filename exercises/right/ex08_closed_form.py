def assemble(first, second, max_length):
    room = max_length - 3
    a = max(room - len(second), (room + 1) // 2)
    first = first[:a]
    second = second[: room - len(first)]
    return [CLS, *first, SEP, *second, SEP], [0] * (len(first) + 2) + [1] * (len(second) + 1)
