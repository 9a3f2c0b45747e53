"""The checker of English: it is silent about the project, and names what it must."""

import pytest
from english import ROOT, findings

MANY = "word " * 36


def test_the_project_is_in_plain_english():
    assert sorted(findings(ROOT)) == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("README.md", "It hangs on x.\n", "README.md:1: 'hangs on' is retired"),
        ("minalbert/a.cu", "// the crew\n", "minalbert/a.cu:1: 'crew' is retired"),
        ("minalbert/a.py", "coin_count = 1\n", "minalbert/a.py:1: 'coin' is retired"),
        ("docs/a.md", f"Short. {MANY}", "docs/a.md: a sentence of 36 words"),
        ("exercises/rubrics/ex.md", f"* Short\n* {MANY}", "exercises/rubrics/ex.md: a sentence of 36 words"),
        ("minalbert/a.py", f'def f():\n    """{MANY}"""\n', "minalbert/a.py: a sentence of 36 words"),
        ("notebooks/00_a.py", f"# %% [markdown]\n# {MANY}\n", "notebooks/00_a.py: a sentence of 36 words"),
    ],
)
def test_what_is_found(tmp_path, name, text, found):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    (only,) = findings(tmp_path)
    assert only.startswith(found)


@pytest.mark.parametrize(
    "text",
    [f"```\n{MANY}\n```\n", f"| {MANY} |\n", f"Half ({MANY}).", f"Half: {MANY[:100]}; {MANY[:100]}.", f"    {MANY}\n",
     f"The `{MANY}`.", f"- {MANY[:100]}\n- {MANY[:100]}\n", f"$${MANY}$$"],
    ids=["code", "table", "parentheses", "clauses", "indented", "name", "list", "formula"],
)  # fmt: skip
def test_what_is_no_long_sentence(tmp_path, text):
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    assert list(findings(tmp_path)) == []
