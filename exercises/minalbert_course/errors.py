from minalbert.errors import MinalbertError


class CourseError(MinalbertError, ValueError):
    """An exercise, a file or a folder that the course cannot work with."""
