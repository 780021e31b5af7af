"""Paths of the repository that a page names exist, and links work on the site and in the clone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_named_commands import ROOT, pages

# Sphinx roles are plain text to a reader of the clone.
ROLE = re.compile(r"\{(?:doc|ref|term|download|numref|any)\}`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+(?:/[\w.*-]+)+/?|[\w-]+\.(?:md|toml|yaml|lock)")
# The build writes these; the reader of a page writes those.
GENERATED = ("docs/reference/generated/", "dist/", "openapi/generated/", "identity_guide/")
TOP = {one.name for one in ROOT.iterdir() if one.is_dir() and not one.name.startswith(".")} - {"dist", "build"}


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def missing(page: Path, text: str) -> list[str]:
    """Return the targets of links, and the named paths below a folder of the repository, that do not exist."""
    found = [one.partition("#")[0] for one in LINK.findall(prose(text)) if not re.match(r"[a-z]+:|#|/", one)]
    places = [page.parent / one for one in found if one]
    faults = [str(one) for one in places if not one.exists() and "generated" not in one.parts]
    for span in SPAN.findall(prose(text)):
        if PATH.fullmatch(span) and span.split("/")[0] in TOP and "/" in span and not span.startswith(GENERATED):
            near = [folder for folder in page.parents if folder.is_relative_to(ROOT)]
            faults += [span] if not any([*folder.glob(span.rstrip("/"))] for folder in near) else []
    return faults


@pytest.mark.parametrize("name", pages())
def test_named_paths_exist(name: str) -> None:
    page = ROOT / name
    assert missing(page, page.read_text(encoding="utf-8")) == []


def test_no_page_uses_a_role() -> None:
    found = [name for name in pages() if ROLE.search((ROOT / name).read_text(encoding="utf-8"))]
    assert found == []


def test_a_missing_path_is_found() -> None:
    # In two parts, because a page that is named in a source must exist.
    absent = "absent" + ".md"
    text = f"See `docs/{absent}`, [this]({absent}), `docs/index.md`, `tests/docs/*.py` and `id/absent`."
    assert missing(ROOT / "README.md", text) == [str(ROOT / absent), f"docs/{absent}"]
    assert ROLE.search("{doc}`check`")
