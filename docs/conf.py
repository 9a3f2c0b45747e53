"""Sphinx's settings; docs/site.py makes the folder that it reads. Nothing in the site is fetched from elsewhere."""

import shutil
import sys
from pathlib import Path

from minalbert import __version__

sys.path.insert(0, str(Path(__file__).parent))

project, author, release = "minalbert", "the authors of minalbert", __version__
project_copyright = "the authors of minalbert, MIT licence"
extensions = ["myst_nb", "sphinxcontrib.katex", "sphinx.ext.autodoc", "sphinx_parts"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["source"]

html_theme = "furo"
html_title = "minalbert"
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files, html_js_files = ["site.css"], ["site.js"]
html_copy_source = html_use_index = html_domain_indices = False
highlight_language = "text"  # what says nothing of itself is no Python
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"

nb_execution_mode = "off"  # notebooks are shown as committed; the tests run them
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4

katex_prerender = bool(shutil.which("node"))  # else a script that comes with the site does it in the page
katex_css_path = "katex/katex.min.css"

autodoc_inherit_docstrings = False
smartquotes = False  # -- is an option, not a dash
autodoc_member_order = "bysource"
autodoc_mock_imports = ["numba"]  # an extra; what is documented stands in the source
toc_object_entries = False  # every page would carry all of them
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "exclude-members": "SECTIONS, SECTION_OF, HELP, CHOICES, CHANGEABLE",  # long tables, as --print-config has them
}
