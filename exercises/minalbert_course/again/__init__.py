"""The calls of a check once more, in ways that no lesson has to ask for itself. `running` says in which order."""
