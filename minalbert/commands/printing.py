"""What all commands share when they print: one JSON object or lines, in letters that the terminal has."""

import json
import os
import shutil
import sys

ASCII = str.maketrans("╰╯─≠·▁█▏▎▍▌▋▊▉░▒▓…×", "\\/-~'_#........:+~x")


def width():
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def in_colour():
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_result(options, result, lines):
    """With --json `result` as one object, else the lines."""
    print(printable(json.dumps(result, indent=1) if options.json else "\n".join(lines)))


def printable(text):
    """The text in letters that the terminal has: signs become plain ones, other letters \\xe9 and the like."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text


def bar(share, width):
    """A bar of at most `width` letters, drawn to an eighth of a letter."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def counted(number, noun):
    """1 document, 1,000 documents"""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
