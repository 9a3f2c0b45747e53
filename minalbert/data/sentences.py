"""Splitting English text into sentences, by a small rule that is easy to replace.

A sentence ends after . ! ? or … (with the quotes and brackets that close there) when white space follows, and
then a capital letter, a digit, or a quote or bracket that opens. A full stop does not end it after a title
(Mr.), a common abbreviation (e.g.) or an initial (J. S. Bach); after "No." and the like, if a number follows.

The rule fails at abbreviations that end a sentence (it joins) and at names after an exclamation ("Yes!" Ann said: it
splits). Any function from a paragraph to a list of sentences can replace it in `read_documents`.
"""

import re

END = re.compile(
    r"""(?<![.!?…]) [.!?…]+ [\])}"'”’»]* \s+                # the end, and the space after it
        (?= [\[({"'“‘«—–-]* [^\W_a-zß-öø-ÿ] )              # before a digit or any letter but a small one
    """, re.VERBOSE,
)  # fmt: skip
LAST_WORD = re.compile(r"""[^\s(\["'“‘«—]*$""")
TITLES = "mr mrs ms mx dr prof rev hon st messrs mme mlle gen col maj capt lt sgt gov sen rep pres supt esq"
COMMON = "e.g i.e cf vs viz al approx dept est jan feb mar apr jun jul aug sept oct nov dec"
NEVER_LAST = frozenset(f"{TITLES} {COMMON}".split())
BEFORE_NUMBERS = frozenset(["no", "nos", "fig", "figs", "p", "pp", "vol", "ch", "sec", "art", "eq"])


def split_sentences(paragraph):
    """A list of the sentences of a paragraph, without white space at their ends."""
    sentences, start = [], 0
    for end in END.finditer(paragraph):
        if not _is_abbreviation(paragraph, start, end):
            sentences.append(paragraph[start : end.end()].strip())
            start = end.end()
    rest = paragraph[start:].strip()
    return [*sentences, rest] if rest else sentences


def _is_abbreviation(paragraph, start, end):
    if end.group().rstrip() != ".":
        return False
    word = LAST_WORD.search(paragraph, max(start, end.start() - 12), end.start()).group()
    initial = len(word) == 1 and word.isupper() and word != "I"
    number = word.lower() in BEFORE_NUMBERS and paragraph[end.end()].isdigit()
    return initial or number or word.lower() in NEVER_LAST
