"""Predictions as the leaderboards take them.

    GLUE         index \\t prediction, with a header: labels as its files name them; numbers, clipped to their range
    SQuAD        {"question's id": "answer", ...}; in 2.0 the empty text for none, and beside that file one of the
                 scores that there is no answer: answers.json, answers.null_odds.json
    others       as GLUE; the index of a RACE question is its id, its prediction a letter
"""

import json
from pathlib import Path

from ..errors import DataError
from ..files import write_together


def write_predictions(task, predictions, examples, path):
    """All files or none. Returns their paths."""
    files = files_of(task, predictions, examples, Path(path))
    write_together(files)
    return [*files]


def files_of(task, predictions, examples, path):
    """{path: bytes}"""
    ids, written = [row.id for row in examples.rows], task.written(predictions.found)
    if task.kind not in ("span", "answer"):
        return {path: table(ids, written)}
    found = [dict(zip(ids, written, strict=True))]
    if task.kind == "answer":
        found.append({id: answer.unanswerable for id, answer in zip(ids, predictions.scores, strict=True)})
    return dict(zip(paths_of(task, path), map(as_json, found), strict=True))


def paths_of(task, path):
    """The files that are written where one is named."""
    return [path, path.with_suffix(f".null_odds{path.suffix}")] if task.kind == "answer" else [path]


def table(ids, written):
    for value in (*ids, *written):
        if "\t" in value or "\n" in value:
            raise DataError(f"{value!r} has a tab or a line's end in it, which a table of predictions cannot hold")
    lines = ["index\tprediction", *(f"{id}\t{value}" for id, value in zip(ids, written, strict=True))]
    return ("\n".join(lines) + "\n").encode()


def as_json(found):
    return (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode()
