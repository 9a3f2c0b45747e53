"""Whole files that are as right as the solution: other forms, cells with tests of one's own, other imports."""

import ast
import re

from minalbert_course.notebook import as_notebook

from .edit import Mutant

CELLS = {
    "a cell that prints": "print('hello', np.arange(3))\nprint(globals().keys())",
    "a cell that seeds and draws": "np.random.seed(0)\nx = y = w = dy = b = np.random.randn(2, 3)\nH = B = T = 3",
    "a cell with a test": "def test_it():\n    assert np.allclose(1.0, 1)\n\n\ntest_it()",
    "a cell whose test fails": "assert np.allclose(1.0, 2), 'not yet'",
    "a cell that raises": "raise ValueError('an attempt of mine')",
    "a cell with a main": "if __name__ == '__main__':\n    raise SystemExit('run as a program')",
    "a cell with other imports": "import collections\nimport itertools\nimport time\nfrom dataclasses import dataclass",
    "a cell with a dataclass": "import dataclasses\n\n\n@dataclasses.dataclass\nclass Settings:\n    rate: float = 0.1",
    "a cell that names NumPy otherwise": "import numpy\n\nnumpy.set_printoptions(precision=3)",
    "a cell with a loop": "for i in range(3):\n    for j in range(3):\n        cache = i * j",
}
FORMS = {                                            # what -> (text -> bytes, suffix)
    "Windows' line ends": (lambda text: text.replace("\n", "\r\n").encode(), ".py"),
    "a mark of UTF-8 at the beginning": (lambda text: b"\xef\xbb\xbf" + text.encode(), ".py"),
    "Latin-1 with its cookie": (
        lambda text: b"# -*- coding: latin-1 -*-\n# H\xfclsenfr\xfcchte\n" + text.encode("latin-1", "ignore"), ".py"
    ),
    "UTF-8 with its cookie": (lambda text: f"# -*- coding: utf-8 -*-\n{text}".encode(), ".py"),
    "no end of line at the end": (lambda text: text.rstrip().encode(), ".py"),
    "tabs": (lambda text: tabs(text).encode(), ".py"),
    "a notebook": (lambda text: as_notebook(text).encode(), ".ipynb"),
    "as ast.unparse writes it": (lambda text: ast.unparse(ast.parse(text)).encode(), ".py"),
}


def tabs(text):
    return re.sub(r"^(?:    )+", lambda match: "\t" * (len(match[0]) // 4), text, flags=re.M)


def whole_files(source):
    """(a Mutant, its bytes, its suffix)"""
    text, lesson = source.solution(), source.lesson
    found = {}
    for what, (form, suffix) in FORMS.items():
        found[what] = form(text), suffix
    functions = [node for node in ast.parse(text).body if getattr(node, "name", "") in lesson.functions]
    lines = text.splitlines(keepends=True)
    for what, cell in CELLS.items():
        for where, line in (("in the middle", functions[0].end_lineno), ("at the end", len(lines))):
            cells = f"\n\n# %%\nimport numpy as np\n\n{cell}\n\n\n# %%\n"
            for suffix in (".py", ".ipynb"):
                whole = "".join([*lines[:line], cells, *lines[line:]])
                kind = "notebook" if suffix == ".ipynb" else "file"
                written = as_notebook(whole) if suffix == ".ipynb" else whole
                found[f"{what}, {where} of a {kind}"] = written.encode(), suffix
    whole = text.replace("import numpy as np", "import numpy").replace("np.", "numpy.")
    found["numpy by its whole name"] = whole.encode(), ".py"
    found["annotations of the future"] = f"from __future__ import annotations\n\n{text}".encode(), ".py"
    for what, (body, suffix) in found.items():
        name = f"{lesson.name}.file.{what.replace(' ', '-')}"
        yield Mutant(name, lesson, "file", "", what, text), body, suffix
