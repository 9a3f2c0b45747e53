"""What this site adds to Sphinx: docstrings as they are laid out, and links to files of code."""

import posixpath
import re
import socket
import time
from subprocess import PIPE, Popen

from docutils import nodes
from sphinx import addnodes
from sphinxcontrib import katex

LAID_OUT = re.compile(r"^ |\S {2,}\S", re.MULTILINE)  # indented, or in columns
FILE = re.compile(r"[\w./-]+\.(?:py|cu|cuh|h|yml|toml|cff)")
TREES = {}  # of this build, whose process makes no other
MARKUP, CODE = re.compile(r"([\\*`|_])"), re.compile(r"`([^`]+)`")


def as_laid_out(app, what, name, obj, options, lines):
    """Paragraphs stay text, and all of what stands in columns keeps its columns."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).rstrip())
    lines[:] = []
    for paragraph in paragraphs:
        if paragraph.startswith("Alias for field number"):  # Python's own words, of no use
            continue
        if LAID_OUT.search(paragraph):
            lines.extend([".. code-block:: text", "", *("   " + line for line in paragraph.splitlines()), ""])
        else:
            code_or_not = CODE.split(paragraph)  # every second part stands between backticks
            code_or_not[::2] = [MARKUP.sub(r"\\\1", text) for text in code_or_not[::2]]
            code_or_not[1::2] = [f"``{code}``" for code in code_or_not[1::2]]
            lines.extend([*"".join(code_or_not).splitlines(), ""])


def link_to_code(app, doctree):
    """A link to minalbert/layers/gelu.py leads to that file's page; one to a file without a page becomes plain text."""
    page = app.env.docname
    for node in list(doctree.findall(addnodes.pending_xref)):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), node["reftarget"]))
        if node.get("reftype") != "myst" or not FILE.fullmatch(target):
            continue
        if f"code/{target}" in app.env.found_docs:
            uri = app.builder.get_relative_uri(page, f"code/{target}")
            node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=uri))
        else:
            node.replace_self(node.children)


def share_trees(app, page, template, context, doctree):
    """Listings of code stand in no table of contents: the tree beside them is the same in all pages of a folder."""
    if "orphan" not in (context.get("meta") or {}):
        return
    folder, make = posixpath.dirname(page), context["toctree"]

    def toctree(**options):
        key = (folder, *sorted(options.items()))
        if key not in TREES:
            TREES[key] = make(**options)
        return TREES[key]

    context["toctree"] = toctree


def name_levels(app, page, template, context, doctree):
    """The captions of the table of contents are headings for those who hear the page; furo leaves their level open."""
    tree = context.get("furo_navigation_tree")
    context["furo_navigation_tree"] = tree and tree.replace('role="heading"', 'role="heading" aria-level="2"')


def start_katex(rundir, timeout):
    """The plugin's own asks once, as soon as the socket is there, and may be refused."""
    path, begin = rundir / "katex.sock", time.monotonic()
    process = Popen(katex.KaTeXServer.build_command(socket=path), stdin=PIPE, stdout=PIPE, cwd=rundir)
    while process.poll() is None and time.monotonic() < begin + timeout:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(path))
            return process, connection
        except OSError:
            connection.close()
            time.sleep(0.01)
    process.kill()
    raise katex.KaTeXServer.timeout_error(timeout)


def setup(app):
    katex.STARTUP_TIMEOUT = 60.0  # seconds, on a busy machine
    katex.KaTeXServer.start_server_process = start_katex
    app.connect("autodoc-process-docstring", as_laid_out)
    app.connect("doctree-read", link_to_code)
    app.connect("html-page-context", share_trees, priority=100)  # before furo
    app.connect("html-page-context", name_levels, priority=900)  # after furo
    return {"parallel_read_safe": True, "parallel_write_safe": True}
