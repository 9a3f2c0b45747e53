"""ALBERT's clean-up of text, in the released script's order:

    1. white space      strip it, and make one space of every run
    2. quotes           `` and '' become "      (only if asked for: transformers does it, the release does not)
    3. NFKD             compatible letters become plain ones, accents stand apart: ﬁ -> fi, é -> e + accent
    4. combining marks  are dropped: the accents
    5. lower case       (the released English models know no capitals)

The order matters: a capital that NFKD makes (™ -> TM) is lower-cased too, and İ becomes i, not i with another dot.
Step 3 may make several spaces; sentencepiece, which comes next, makes them one.
"""

import re
import unicodedata
from dataclasses import dataclass

from ..errors import DataError

PLAIN = bytes([ord("\n"), *range(ord(" "), 127)])     # characters that no step but lower-casing changes


@dataclass(frozen=True)
class Normaliser:
    """ALBERT's clean-up. lower: lower-case everything; quotes: step 2."""

    lower: bool = True
    quotes: bool = False

    def __call__(self, text):
        return self.many([text])[0]

    def many(self, texts):
        """Clean up many texts at once, as one long string of lines: no step reads beyond a line's end."""
        lines = "\n".join(texts)
        others = other_characters(lines)
        if not is_tidy(lines, len(texts), others):
            lines = "\n".join([" ".join(text.split()) for text in texts])
        if self.quotes:
            lines = lines.replace("``", '"').replace("''", '"')
        if others:
            lines = unicodedata.normalize("NFKD", lines)
            for mark in filter(unicodedata.combining, set(unicodedata.normalize("NFKD", "".join(others)))):
                lines = lines.replace(mark, "")
        if self.lower:
            lines = lines.lower()
        return lines.split("\n") if texts else []

    def with_places(self, text):
        """Return (clean, places): the character clean[i] comes from text[places[i]].

        What is dropped is between two places: white space, accents, the second sign of a quote.
        """
        words = [*re.finditer(r"\S+", text)]
        tidy = " ".join(word.group() for word in words)
        places = [i for word in words for i in range(word.start(), word.end() + 1)]     # a space: where a word ends
        if self.quotes:
            for signs in ("``", "''"):
                for second in reversed([found.end() - 1 for found in re.finditer(signs, tidy)]):
                    del places[second]
                tidy = tidy.replace(signs, '"')
        lengths = {character: len(self(f"a{character}")) - 1 for character in set(tidy) - {" "}} | {" ": 1}
        return self(text), [i for i, character in zip(places, tidy, strict=False) for _ in range(lengths[character])]


def other_characters(text):
    """The set of characters that are not PLAIN. They are few, and this is faster than a loop in Python."""
    try:
        return set(text.encode("utf-8").translate(None, PLAIN).decode("utf-8"))
    except UnicodeEncodeError as error:
        raise DataError(
            f"a text holds {text[error.start]!r}, half of a surrogate pair; it must be text that UTF-8 can write"
        ) from error


def is_tidy(lines, count, others):
    """Are single spaces between words, and line ends between texts, the only white space?"""
    untidy = "  " in lines or " \n" in lines or "\n " in lines or " " in (lines[:1], lines[-1:])
    return not untidy and lines.count("\n") == count - 1 and not any(map(str.isspace, others))
