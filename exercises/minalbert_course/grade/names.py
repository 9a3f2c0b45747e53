"""Names of students as a grader shows them: kept apart, harmless on a terminal, in a file's name, in a spreadsheet."""

import hashlib
import re
import unicodedata

from ..marking import printable

LONGEST = 100                                        # bytes of a name in a file's name, in UTF-8
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


class Names:
    """A name to show for each that a folder or file gives; one that looks like another's gets its letters' codes."""

    def __init__(self):
        self.shown = {}

    def __getitem__(self, given):
        if given not in self.shown:
            name, taken, number = one_line(given), self.shown.values(), 1
            shown = name
            while shown in taken:
                shown = f"{name[:100]} ({ascii(given)[1:-1][:100]}{f', {number}' if number > 1 else ''})"
                number += 1
            self.shown[given] = shown
        return self.shown[given]


def one_line(given):
    """In composed letters (NFC), without control characters; é is one letter, however it was typed."""
    return " ".join(printable(unicodedata.normalize("NFC", given)).split()) or "(no name)"


def file_names(students):
    """{student: letters, digits and a few signs}, all different, where case does not count, too.

    A name that had to be changed, or is another's but for case, ends in a piece of its hash.
    """
    names, taken = {}, set()
    for student in students:
        name = cut(re.sub(r"[^\w-]", "_", student), LONGEST)
        if name != student or name.casefold() in taken:
            name = f"{name}-{hashlib.sha256(student.encode(errors='replace')).hexdigest()[:8]}"
        taken.add(name.casefold())
        names[student] = name
    return names


def cut(text, most):
    """The beginning that has at most so many bytes in UTF-8."""
    return text.encode(errors="replace")[:most].decode(errors="ignore")


def harmless(cell):
    """A spreadsheet would run a cell that begins like a formula, after spaces too; with ' before it, it is text."""
    return f"'{cell}" if cell.lstrip().startswith(FORMULA) or cell.startswith(("\t", "\r", "\n")) else cell
