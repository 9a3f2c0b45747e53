"""Can a file keep anything from one call to the next? What its text shows."""
