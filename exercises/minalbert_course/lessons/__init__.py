"""One module for each exercise: what it asks for, and how each part is checked."""
