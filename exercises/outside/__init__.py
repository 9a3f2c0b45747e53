"""Numbers from outside, made by libraries that no one here wrote."""
