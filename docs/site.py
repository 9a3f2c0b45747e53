"""The site: python docs/site.py [OUT]

A tree of pages is put together, laid out as the repository is, so that the links that are right on GitHub are right in
the site; then Sphinx reads it. A link to a file of code becomes one to that file's own page.
"""

import importlib
import json
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

try:
    for name in ("sphinx", "furo", "myst_nb", "sphinxcontrib.katex", "hatchling"):
        importlib.import_module(name)
except ImportError as error:
    sys.exit(f"{error.name} is not installed; the site needs it: pip install -e '.[site]'")

from browser.stage import stage as stage_python

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "site"
COPIED = ("*.md", "docs/*.md", "docs/*.png", "docs/*.svg", "docs/walkthrough/*.md", "docs/browser/*.md",
          "exercises/*.md", "exercises/rubrics/*.md", "benchmarks/results/*.md")  # fmt: skip
COURSE = "exercises/minalbert_course"
FIRST = ("albert", "batch", "params", "config")  # what a user holds
CODE = {".py": "python", ".js": "javascript", ".cu": "cuda", ".cuh": "cuda"}
PACKAGES = {
    "": "the model, and what all rooms use",
    "layers": "the pairs", "model": "from ids to losses, and back", "fused": "the same pairs over an arena",
    "kernels": "the mathematics, fused", "parallel": "a batch in slices",
    "split": "one model on several ranks", "optim": "AdamW, LAMB, learning rates",
    "data": "from text to batches", "tasks": "what fine-tuning trains", "train": "a run that loses nothing",
    "experiments": "the paper, table by table", "gradcheck": "is the gradient right?",
    "analysis": "counting parameters, operations, memory", "plots": "figures", "interop": "released weights",
    "commands": "the program", "course": "exercises and grading",
}  # fmt: skip


def stage(pages, root=ROOT):
    """Every page that Sphinx is to read."""
    for pattern in COPIED:
        for path in root.glob(pattern):
            copy(path, pages / path.relative_to(root))
    (pages / "docs" / "index.md").replace(pages / "index.md")
    overview = (pages / "README.md").read_text(encoding="utf-8").replace("# minalbert", "# Overview", 1)
    write(pages / "README.md", overview)  # the site itself is called minalbert
    for path in root.glob("notebooks/*.ipynb"):
        write(pages / path.relative_to(root), json.dumps(with_alternatives(json.loads(path.read_text("utf-8")))))
    folders = ("minalbert", "examples", COURSE)
    files = [path for folder in folders for path in (root / folder).rglob("*") if path.suffix in CODE]
    for name in sorted(path.relative_to(root).as_posix() for path in files):
        path = root / name
        copy(path, pages / "source" / name)
        write(pages / "code" / f"{name}.md", listing(name, CODE[path.suffix]))
    for name, what in PACKAGES.items():
        write(pages / "api" / f"{name or 'minalbert'}.md", reference(root, name, what))
    write(pages / "api" / "index.md", contents("Every module", [name or "minalbert" for name in PACKAGES]))
    for folder, title in (("exercises/rubrics", "Rubrics"), ("benchmarks/results", "Benchmark reports")):
        names = sorted(path.stem for path in (pages / folder).glob("*.md"))
        write(pages / folder / "index.md", contents(title, names))


def listing(name, language):
    """A page with the whole of a file; none of the tables of contents lists it."""
    return f"---\norphan: true\n---\n# {name}\n\n```{{literalinclude}} /source/{name}\n:language: {language}\n```\n"


def contents(title, names):
    """A page that lists others."""
    return f"# {title}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def write(target, text):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def with_alternatives(notebook):
    """Pictures say what they show to those who do not see them. Outputs know it; Sphinx looks for it in the cell."""
    notebook["cells"] = [part for cell in notebook["cells"] for part in one_picture_each(cell)]
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            said = output.get("metadata", {}).get("image/png", {})
            if "alt" in said:
                cell["metadata"]["mystnb"] = {"image": {"alt": said["alt"]}}
    return notebook


def one_picture_each(cell):
    """A cell has one alternative text, so each further picture of a cell gets its own, whose code is not shown."""
    outputs = cell.get("outputs", ())
    pictures = [place for place, output in enumerate(outputs) if "image/png" in output.get("metadata", {})]
    bounds = [0, *pictures[1:], len(outputs)]
    parts = [cell | {"metadata": dict(cell["metadata"])}]
    for number in range(1, len(pictures)):
        hidden = {"id": f"{cell['id']}-{number}", "metadata": {"tags": ["remove-input"]}}
        parts.append(cell | hidden)
    if pictures:
        for part, (start, stop) in zip(parts, pairwise(bounds), strict=True):
            part["outputs"] = outputs[start:stop]
    return parts


def reference(root, name, what):
    """A page for a package: each of its modules, in the order of their names; of `minalbert` the first ones first."""
    package = root / (COURSE if name == "course" else f"minalbert/{name}")
    paths = sorted(package.glob("*.py")) if not name else sorted(package.rglob("*.py"))
    paths = [path.relative_to(root) for path in paths
             if not {"lessons", "__main__.py"} & set(path.relative_to(package).parts)]  # fmt: skip
    if not name:
        paths.sort(key=lambda path: FIRST.index(path.stem) if path.stem in FIRST else len(FIRST))
    title = module_of(package.relative_to(root))
    return f"# {title}: {what}\n\n" + "\n".join(map(documented, paths))


def module_of(path):
    """minalbert/layers/gelu.py -> minalbert.layers.gelu; the course's package is in a folder that is none."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__").removeprefix("exercises.")


def documented(path):
    module = module_of(path)
    listed = f"[`{path.as_posix()}`](../{path.as_posix()})"
    return f"## {module}\n\n{listed}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"


def build(site=SITE):
    """Warnings are errors."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        pages, doctrees, made = Path(folder, "pages"), Path(folder, "doctrees"), Path(folder, "site")
        stage(pages)
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", doctrees, "-c", ROOT / "docs"]
        subprocess.run([*command, pages, made], check=True)
        stage_python(ROOT, made / "docs" / "browser")
        if (site / ".buildinfo").exists():  # made here before; nothing of then may stay
            shutil.rmtree(site)
        shutil.copytree(made, site, dirs_exist_ok=True)


if __name__ == "__main__":
    site = Path(sys.argv[1]) if sys.argv[1:] else SITE
    try:
        build(site)
    except subprocess.CalledProcessError:
        sys.exit("the site was not built: Sphinx says why above")
    print(f"open {site / 'index.html'}")
