"""Find why an answer is wrong, where no mistake that the lesson knows gives its numbers."""
