"""Pages of the reference and pictures, made each time the site is built from what they show: document, commands, settings, floors, figures.

Nothing of it is committed, so nothing of it can be stale. ``conf.py`` calls ``write``.
"""

from __future__ import annotations

from pathlib import Path

from docs.generate.commands import command_page
from docs.generate.document import load
from docs.generate.errors import error_page
from docs.generate.figures import figures_page
from docs.generate.operations import operation_pages
from docs.generate.pictures import pictures
from docs.generate.schemas import schema_page
from docs.generate.settings import settings_page


def pages() -> dict[str, str]:
    """Name of the file → page."""
    document = load()
    return {
        **operation_pages(document),
        "schemas.md": schema_page(document),
        "errors.md": error_page(document),
        "commands.md": command_page(),
        "settings.md": settings_page(),
        "figures.md": figures_page(),
    }


def write(folder: Path) -> None:
    """Writes the pages into ``folder``, and takes away what an earlier version wrote there. A page that did not change keeps its time, so
    that it is not built anew."""
    written = pages() | pictures()
    folder.mkdir(parents=True, exist_ok=True)
    for stale in {path.name for path in folder.iterdir()} - written.keys():
        (folder / stale).unlink()
    for name, text in written.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
