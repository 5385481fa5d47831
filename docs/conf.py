"""How the site is built: `make site`, without a network, and a warning is an error."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
sys.path.insert(0, str(Path(__file__).parent / "pictures"))

import draw
from numpydoc.xref import DEFAULT_LINKS

import public_names
from paribus import __version__

project = "paribus"
copyright = "The paribus developers"
author = "The paribus developers"
version = release = __version__

extensions = [
    "mathml",
    "public_names",
    "repository_links",
    "site_files",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["pictures/draw.py", "auto_examples/*.py", "auto_examples/**/*.ipynb", "tables/*"]
nitpicky = True  # every cross reference must resolve, but into other projects
nitpick_ignore_regex = [("py:.*", r"sklearn\..*")]

# Links to other projects need their inventories, and so a network: only where it is said that there is one.
if os.environ.get("PARIBUS_SITE_LINKS"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
    }

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

autosummary_generate = True
autosummary_context = {"on_pages": public_names.on_pages()}
default_role = "autolink"  # `name` in a docstring
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings say more
python_maximum_signature_line_length = 80
python_display_short_literal_types = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
OURS = [*public_names.NAMES, *public_names.PARTS]
numpydoc_xref_aliases = {name.rpartition(".")[2]: name for name in OURS}
if "sphinx.ext.intersphinx" not in extensions:  # then str, int and ndarray are words
    numpydoc_xref_aliases |= {name: name for name in DEFAULT_LINKS}
numpydoc_xref_ignore = "all"

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"plot_",
    "parallel": 2,  # examples at once; joblib comes with scikit-learn
    "subsection_order": "gallery_order.group_order",
    "within_subsection_order": "gallery_order.reading_order",
    "abort_on_example_error": True,
    "reference_url": {"paribus": None},
    "doc_module": ("paribus",),
    "backreferences_dir": "reference/examples",
    "image_srcset": ["2x"],
    "remove_config_comments": True,
    "ignore_repr_types": r"matplotlib\.(axes|figure|legend|text)",  # a picture is shown, not its name
    "show_memory": False,
    "write_computation_times": False,  # pages of timings, whose scripts come from elsewhere
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"paribus {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
html_theme_options = {
    "collapse_navigation": True,
    "navigation_depth": 1,  # the buttons that expand deeper levels have no text for screen readers
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo-dark.svg", "alt_text": "paribus"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "exact": []},
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Add the sample report to the finished pages."""
    app.connect("build-finished", _sample_report)


def _sample_report(app, failure):
    if failure is None:
        draw.sample_report(Path(app.outdir) / "sample-report.html")
