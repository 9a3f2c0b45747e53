from math import prod


def size(*shapes):
    return sum(prod(shape) for shape in shapes)


def embedding_parameters(V, E, H, M):
    shapes = [(V, E), (M, E), (2, E), (E,), (E,)]
    return size(*shapes, *([] if E == H else [(E, H), (H,)]))


def layer_parameters(H, F):
    return size(*[(H, H), (H,)] * 4, (H, F), (F,), (F, H), (H,), *[(H,)] * 4)


def albert_parameters(config, shared):
    V, E, H = (config[f"{name}_size"] for name in ("vocab", "embedding", "hidden"))
    layers = [layer_parameters(H, config["intermediate_size"]) for _ in range(config["num_hidden_layers"])]
    embedding = embedding_parameters(V, E, H, config["max_position_embeddings"])
    return embedding + sum(layers[: 1 if shared else None]) + size((H, H), (H,))


def gradient_bytes(config, shared):
    return (32 * albert_parameters(config, shared) // 8,)
