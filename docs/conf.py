"""How the documentation is built: ``make docs``."""

import sys
import warnings
from pathlib import Path

import certiclust

sys.path.insert(0, str(Path(__file__).parent))
from measured import substitutions

project = "certiclust"
author = "The certiclust developers"
copyright = "2026, The certiclust developers"
version = release = certiclust.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "data"]
myst_enable_extensions = ["dollarmath", "substitution"]
myst_substitutions = substitutions()
myst_heading_anchors = 3
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"
# Sizes of sets in docstrings, which would else be substitutions that nobody defined.
rst_prolog = "".join(f".. |{name}| replace:: \\|{name}\\|\n" for name in "Px")

plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_rcparams = {"figure.figsize": (5.2, 3.6), "figure.constrained_layout.use": True}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
}
# Examples draw into a page: nobody is there to look at a window.
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "certiclust"
html_show_sourcelink = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": True, "show_prev_next": False}
