"""The prose of the project: python tests/english.py names each place with a retired word or too long a sentence.

Prose is what is read as text: pages, markdown cells and docstrings, and comments for the words. A sentence ends at a
full stop, a question mark, a colon or a semicolon; code, tables, formulas and what is in parentheses are left out.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 35  # words of a sentence
RETIRED = re.compile(r"\bcoins?\b|\bthrown\b|\bcrews?\b|\bhangs? on\b|\bwhosever\b|\bbe had\b|\bdear\b", re.IGNORECASE)
PAGES = ("*.md", "docs/*.md", "docs/walkthrough/*.md", "docs/browser/*.md", "exercises/*.md", "exercises/rubrics/*.md")
CELLS = ("notebooks/[0-9]*.py", "exercises/source/*.py")
CODE = ("minalbert/**/*.py", "exercises/minalbert_course/**/*.py", "examples/*.py", "tests/*.py", "benchmarks/*.py")
WORDS = ("minalbert/**/*.cu*",)  # words alone
EXCEPT = ("exercises/CATALOGUE.md", "tests/english.py", "tests/test_english.py")  # the first is made of others
OLD_NAMES = ("CHANGELOG.md", "benchmarks/releases.py")  # of earlier releases
STORIES = ("minalbert/data/tiny_worlds/", "examples/albert_in_one_file.py")  # their people have coins and crews


def main(root=ROOT):
    found = sorted(findings(root))
    print(*found, sep="\n")
    return bool(found)


def findings(root):
    for path in files(root, PAGES + CELLS + CODE + WORDS):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines() if not name.startswith(OLD_NAMES + STORIES) else (), 1):
            for word in RETIRED.findall(line.replace("_", " ")):
                yield f"{name}:{number}: {word!r} is retired"
        for passage in passages(path, text):
            for sentence in sentences(passage):
                if (count := len(sentence.split())) > LONGEST:
                    yield f"{name}: a sentence of {count} words: {sentence[:60]}..."


def files(root, patterns):
    """Each file once."""
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    return sorted(path for path in paths if not path.relative_to(root).as_posix().startswith(EXCEPT))


def passages(path, text):
    """What of a file is prose."""
    if path.suffix == ".md":
        yield text
    elif path.suffix == ".py" and "# %% [markdown]" in text:
        for cell in re.findall(r"^# %% \[markdown\]\n((?:#.*\n)+)", text, re.MULTILINE):
            yield re.sub(r"^# ?", "", cell, flags=re.MULTILINE)
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                yield ast.get_docstring(node) or ""


def sentences(passage):
    """The sentences of a text, without code, tables, formulas, indented lines and lines in columns."""
    passage = re.sub(r"^```.*?^```|<!--.*?-->|\$\$.*?\$\$", "\n\n", passage, flags=re.DOTALL | re.MULTILINE)
    passage = re.sub(r"\]\([^)]*\)|\[\^?\d+\]:.*", "]", passage)
    passage = re.sub(r"`[^`]*`|\$[^$]*\$", "X", passage)
    passage = re.sub(r"\s\([^()]*\)", "", passage)
    passage = re.sub(r"^(\||    ).*|^.*\S {2,}\S.*", "\n", passage, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n|\n\s*(?:[*-]|\d+\.) |\n#+ |\n:", passage):
        yield from re.split(r"(?<=[.?!:;])[*\"')]*\s+|(?<=[.?!:;])$", " ".join(block.split()))


if __name__ == "__main__":
    sys.exit(main())
