"""Tell from the text of a file whether its functions can keep anything between calls."""
