"""What went wrong with data, in one sentence: the thing, its value, and what would be right."""


class DataError(ValueError):
    pass
