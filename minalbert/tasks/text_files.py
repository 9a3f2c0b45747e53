"""Files of tasks as text: decoded, cut into lines, parsed as JSON, with the line of whatever is wrong."""

import json

from ..errors import TaskDataError
from ..files import read

ADVICE = "name the directory or file that the task was unpacked to"


def refused(path, line, reason):
    """The error about a line of a file, counted from 1."""
    return TaskDataError(f"{path}:{line}: {reason}")


def read_text(path, advice=ADVICE, holds="examples"):
    """The text of a file, UTF-8 with or without a byte-order mark, with \\n at the end of each line.

    holds: what must be in it, for the sentence about an empty one
    """
    content = read(path, advice)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise refused(path, line, f"byte {content[error.start]:#04x} is not UTF-8; the file must be UTF-8") from None
    text = text.replace("\r\n", "\n")
    if not text.strip():
        raise refused(path, 1, f"the file is empty; it must hold {holds}")
    return text


def read_lines(path):
    """[(number, line)]. Only \\n and \\r\\n end a line, not the other signs that `splitlines` knows."""
    text = read_text(path).rstrip("\n")
    if "\n" not in text and "\r" in text.rstrip("\r"):
        raise refused(path, 1, "its lines end with a carriage return alone; they must end with a line feed, alone or "
                      "after one")
    return list(enumerate(text.split("\n"), 1))


def parsed(path, text, line=1):
    """The JSON object that a text is, which begins at a line of a file."""
    try:
        found = json.loads(text)
    except RecursionError:
        raise refused(path, line, "it is nested too deeply to be JSON that minalbert reads") from None
    except ValueError as error:
        line += getattr(error, "lineno", 1) - 1
        raise refused(path, line, f"it is not JSON ({getattr(error, 'msg', error)}, at character "
                      f"{getattr(error, 'colno', 1)}); it must be one JSON object") from None  # fmt: skip
    return of_kind(path, line, "it", found, dict)


KINDS = {dict: "an object with names and values", list: "a list", str: "a text", int: "a whole number",
         bool: "true or false"}  # fmt: skip


def of_kind(path, line, name, value, kind):
    if type(value) is not kind:
        shown = json.dumps(value)
        shown = shown if len(shown) <= 40 else f"{shown[:40]}..."
        raise refused(path, line, f"{name} is {shown}; it must be {KINDS[kind]}")
    return value


def member(path, line, place, table, name, kind):
    """table[name], which must be there and of a kind. place: where the table is, such as data[0], or nothing"""
    name_there = f"{place}.{name}" if place else name
    if name not in table:
        raise refused(path, line, f"there is no {name_there}; it must be there, and {KINDS[kind]}")
    return of_kind(path, line, name_there, table[name], kind)
