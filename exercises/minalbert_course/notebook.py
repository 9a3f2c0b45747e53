"""A py:percent text as a Jupyter notebook: `# %%` begins a cell of code, `# %% [markdown]` one of text."""

import json
import re

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def as_notebook(percent):
    """The JSON of the notebook: the same bytes every time."""
    parts = re.split(r"^# %%(.*)\n", percent, flags=re.M)[1:]        # what follows %%, a cell, and so on
    cells = [cell(f"cell-{number}", kind, text)
             for number, (kind, text) in enumerate(zip(parts[::2], parts[1::2], strict=True), 1)]  # fmt: skip
    notebook = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def cell(name, kind, text):
    text = text.strip("\n")
    if kind.strip() == "[markdown]":
        text = re.sub(r"^# ?", "", text, flags=re.M)
        return {"cell_type": "markdown", "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
    return {
        "cell_type": "code", "execution_count": None, "id": name, "metadata": {}, "outputs": [],
        "source": text.splitlines(keepends=True),
    }  # fmt: skip
