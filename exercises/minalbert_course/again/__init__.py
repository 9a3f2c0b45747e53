"""Repeat the calls of a check with one thing changed. `running` decides which, and when."""
