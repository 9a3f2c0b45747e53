from . import ex10

FROM = "optax.lamb and optax.adam 0.2.8, float64, as they are"


def numbers():
    return ex10.numbers(count=0)
