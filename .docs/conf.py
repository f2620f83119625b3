"""How the site is made: ``.ci/docs FOLDER``. The pages that are not written by hand: `generate`."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generate  # noqa: E402 - it lies beside this file, which Sphinx runs from elsewhere

from replay.version import __version__  # noqa: E402

# Repository and documentation are in pyproject.toml once there are any, and nowhere else.
_PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
project, release = _PROJECT["name"], __version__
author = ", ".join(each["name"] for each in _PROJECT["authors"])
html_baseurl = _PROJECT["urls"].get("Documentation", "")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["reference/generated/api/README.md"]
templates_path = ["_templates"]

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # numpydoc names the types already
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "hippocampal-replay"
html_show_sourcelink = False
html_theme_options = {
    "github_url": _PROJECT["urls"].get("Repository", ""),
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
copyright = author

generate.write_all(HERE.parent)
