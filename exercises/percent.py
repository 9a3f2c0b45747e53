"""py:percent texts as notebooks: the same bytes every time, fit for every Jupyter."""

import os

import jupytext


def notebook_of(percent):
    return jupytext.reads(percent, fmt="py:percent")


def notebook_text(notebook):
    """The JSON of a notebook."""
    for number, cell in enumerate(notebook.cells, 1):
        cell.id = f"cell-{number}"
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return jupytext.writes(notebook, fmt="ipynb")


def executed(notebook, folder=None, environment=None, seconds=240):
    """The notebook with its outputs; a cell that fails raises."""
    from nbclient import NotebookClient

    quiet = ["--log-level=40"]                       # a kernel has remarks on its own sockets
    resources = {"metadata": {"path": str(folder)}} if folder else {}
    NotebookClient(
        notebook, timeout=seconds, kernel_name="python3", resources=resources, extra_arguments=quiet,
        coalesce_streams=True,                       # what is printed comes in pieces, as the clock has it
    ).execute(env=environment or dict(os.environ))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)         # when it ran
    return notebook
