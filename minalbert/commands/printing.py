"""What all commands share when they print: one JSON object or lines, in letters that the terminal has."""

import json
import shutil
import sys

ASCII = str.maketrans("╰╯─≠·▁█▏▎▍▌▋▊▉░▒▓…×", "\\/-~'_#........:+~x")


def width():
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def print_result(options, result, lines):
    """With --json `result` as one object, else the lines."""
    print(printable(json.dumps(result, indent=1) if options.json else "\n".join(lines)))


def printable(text, encoding=None):
    """The text itself, or in plain letters if the terminal has no others."""
    try:
        text.encode(encoding or sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return text.translate(ASCII).encode("ascii", "replace").decode()
    return text
