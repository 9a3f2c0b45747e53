"""The course as its makers see it: sources, and what is built of them."""
