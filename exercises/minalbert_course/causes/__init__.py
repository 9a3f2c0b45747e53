"""Why is an answer wrong? What is tried where no suspect of the lesson has the student's numbers."""
