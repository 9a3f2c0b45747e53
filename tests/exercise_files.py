"""What students send in, made from the sources of the exercises."""

import json

from exercises.source import sources

SOURCES = {source.lesson.name: source for source in sources()}


def solution(name):
    return SOURCES[name].solution()


def stub(name):
    return SOURCES[name].student()


def file_name(name):
    return f"{SOURCES[name].path.stem}.py"


def as_notebook(*cells):
    """The JSON of a notebook of code cells."""
    made = [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": [], "execution_count": None} for cell in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
