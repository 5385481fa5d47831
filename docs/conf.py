"""How the site is built: `make site`, without a network, and a warning is an error."""

from paribus import __version__

project = "paribus"
copyright = "The paribus developers"
author = "The paribus developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
exclude_patterns = ["pictures/draw.py", "auto_examples/*.py", "auto_examples/**/*.ipynb"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "reference_url": {"paribus": None},
    "doc_module": ("paribus",),
    "backreferences_dir": "reference/examples",
    "remove_config_comments": True,
    "ignore_repr_types": r"matplotlib\.(axes|figure|text)",  # a picture is shown, not its name
    "show_memory": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"paribus {version}"
html_static_path = ["_static"]
html_theme_options = {"show_prev_next": True, "navigation_with_keys": False}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
