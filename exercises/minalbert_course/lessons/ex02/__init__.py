"""Exercise 2, the affine map and the embedding: the lesson, the rows and tables of usual mistakes."""

from . import linear_embedding

LESSONS = [linear_embedding.lesson]
