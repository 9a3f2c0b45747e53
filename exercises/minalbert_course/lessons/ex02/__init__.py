"""Exercise 2: the affine map and the embedding."""

from . import linear_embedding

LESSONS = [linear_embedding.lesson]
