"""The documentation: ``make docs``."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import sabm_mesa

project = "sabm-mesa"
author = "the sabm-mesa authors"
copyright = "the sabm-mesa authors, MIT licence"
release = version = sabm_mesa.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "site_pages",
]
exclude_patterns = ["_build", "jupyter_execute", "**.ipynb_checkpoints"]
language = "en"
highlight_language = "text"

# Single backticks name parameters and attributes too: what can be resolved becomes a link, the rest
# is code. Types of other packages are not looked up, since their indexes need a network, and type
# variables (named by one letter) have no page.
default_role = "py:obj"
nitpick_ignore_regex = [
    ("py:obj", r".*"),
    (r"py:.*", r"(?!sabm_mesa\.).*"),
    ("py:class", r"sabm_mesa\..*\.([A-Z]|_\w+)"),
    ("py:class", r"sabm_mesa\..*\.Annotated"),  # of an alias in the same module
]
# Where classes of several modules share a short name, a signature is not a link.
suppress_warnings = ["ref.python"]

autodoc_default_options = {"ignore-module-all": True}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Class attributes", "params_style")]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost)\b"]

html_theme = "pydata_sphinx_theme"
html_title = "sabm-mesa"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "start": []}
html_theme_options = {
    "logo": {"text": "sabm-mesa"},
    "header_links_before_dropdown": 8,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
