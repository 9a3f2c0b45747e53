"""How many threads multiply matrices. Where workers share a batch each shall have one, however many there are: the
last bits of a product may depend on how many threads made it."""

from threadpoolctl import threadpool_limits


def blas_threads(count):
    """A context in which BLAS uses so many, or with None as many as it did."""
    return threadpool_limits(count, user_api="blas")
