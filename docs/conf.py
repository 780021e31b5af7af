"""The documentation site: `tox -e docs` builds it. It loads nothing from elsewhere, neither when it is built nor when it is read."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.generate import write  # noqa: E402  (the path first)
from docs.generate.text import write_text_files  # noqa: E402
from identity_core import __version__  # noqa: E402

write(HERE / "reference" / "generated")

project = "identity-service"
version = release = __version__
html_title = f"identity-service {__version__}"
html_theme = "furo"
html_favicon = "icon.svg"
html_show_copyright = False
html_copy_source = False
html_last_updated_fmt = None
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_inline_tabs"]
myst_enable_extensions = ["colon_fence"]
# What is copied of a console block is what is typed.
copybutton_prompt_text = r"^[$>] "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
exclude_patterns = [
    "README.md",
    "_build",
    "reference/generated/errors.md",
    "reference/generated/figures.md",
    "identity_guide",
    "dist",
    "build",
]
# Included pages of the repository keep the headings that they have there.
suppress_warnings = ["myst.header"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
nitpicky = True
pygments_style = "friendly"


def _write_text(app: Any, error: Exception | None) -> None:
    if error is None:
        write_text_files(HERE, Path(app.outdir))


def setup(app: Any) -> None:
    """Add the pages as text to the built site."""
    app.connect("build-finished", _write_text)
