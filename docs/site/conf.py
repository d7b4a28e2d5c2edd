"""How Sphinx makes the site of the pages that pages.py writes."""

project = "ulpscope"
author = "The ulpscope developers"
copyright = "The ulpscope developers, Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "ulpscope"
html_show_copyright = False
myst_heading_anchors = 4
autodoc_typehints = "none"
# Sessions of a shell and tables of programs are no language.
highlight_language = "none"


def as_written(app, what, name, thing, options, lines):
    """Docstrings are text for help(), not markup."""
    lines[:] = ["::", "", *(f"    {line}" for line in lines), ""]


def setup(app):
    app.connect("autodoc-process-docstring", as_written)
