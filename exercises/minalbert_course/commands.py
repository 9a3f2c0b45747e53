"""The commands that the course adds to `minalbert`: name -> (module, purpose)."""

COMMANDS = {
    "exercise": ("minalbert_course.command", "exercises: start one, check it, get a hint"),
    "grade": ("minalbert_course.grade.command", "mark a folder of submissions"),
}
