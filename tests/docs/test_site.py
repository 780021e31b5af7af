"""The site as it is built: no warning, no dead link, nothing that a browser would fetch from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.built import ROOT, SITE, need_furo

need_furo()
INDEX = (ROOT / "docs" / "index.md").read_text("utf-8")
# What a browser loads by itself.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        said = dict(attributes)
        self.ids |= {one for one in (said.get("id"), said.get("name") if tag == "a" else None) if one}
        if tag == "a" and said.get("href"):
            self.links.append(str(said["href"]))
        if said.get(LOADED.get(tag, "")) and said.get("rel") not in ("next", "prev", "search", "index", "canonical"):
            self.loaded.append(str(said[LOADED[tag]]))


@pytest.fixture(scope="module")
def site(built: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in built.rglob("*.html")}


def test_every_link_within_the_site_leads_somewhere(site: dict[Path, Page]) -> None:
    dead, followed = [], 0
    for path, page in site.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target in site if target.suffix == ".html" else target.is_file()
            if not there or (parts.fragment and unquote(parts.fragment) not in site[target].ids | {"searchbox"}):
                dead.append(f"{path.relative_to(SITE)}: {link}")
            followed += 1
    assert dead == []
    assert followed > 1_000


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, Page]) -> None:
    assert [one for page in site.values() for one in page.loaded if urlsplit(one).netloc] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in SITE.rglob("*.css"))
    assert "//" not in "".join(part.partition(")")[0] for part in styles.split("url(")[1:] if "data:" not in part[:8])


def test_each_code_has_the_anchor_that_an_answer_names(site: dict[Path, Page]) -> None:
    from docs.generate.document import load
    from identity_core.errors import CODES

    ids = site[SITE / "reference" / "errors.html"].ids
    codes = load().body["x-error-catalogue"].keys() & CODES.keys()
    assert {code.lower().replace("_", "-") for code in codes} <= ids


def test_pages_as_text_are_listed_and_complete(built: Path) -> None:
    listed, whole = ((built / name).read_text("utf-8") for name in ("llms.txt", "llms-full.txt"))
    linked = re.findall(r"^- \[.+?\]\((\S+?)\.html\): \S", listed, re.MULTILINE)
    pages = re.findall(r"^(?:tutorial|roles|how-to|explanation|project|reference)/\S+$", INDEX, re.MULTILINE)
    assert sorted(linked) == sorted(pages)
    assert all(
        f"# {heading}\n" in whole for heading in ("Quickstart for holders", "Threat model", "Errors", "Settings")
    )
    assert all((built / f"{page}.html").is_file() for page in linked)
