"""The documentation under /docs/guide: what is installed, by exact names, under a policy that fits each page; errors lead to it."""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from identity_core.api.errors import guide_folder
from identity_core.api.pages import guide_pages
from tests.toy_document import ask, build_toy

LINES = b"document.body.dataset.theme = 1;"
PAGE = b"<html><script>" + LINES + b'</script><script src="_static/a.js"></script></html>'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "packages" / "identity_guide" / "site"
    (folder / "reference").mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "index.html").write_bytes(PAGE)
    (folder / "reference" / "errors.html").write_bytes(b"<html></html>")
    (folder / "objects.inv").write_bytes(b"for other sites")
    (tmp_path / "secret.html").write_bytes(b"not of the site")
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(site.parents[1])
    guide_folder.cache_clear()
    yield site
    monkeypatch.undo()
    sys.path_importer_cache.pop(str(site.parents[1]), None)
    guide_folder.cache_clear()


def test_first_page_is_found_and_page_is_read_under_its_policy(site: Path) -> None:
    app = build_toy(pages=guide_pages(site))
    first = ask(app, target="/docs/guide")
    assert (first.status, first.headers["location"], first.body) == (308, "/docs/guide/index.html", b"")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    page = ask(app, target=first.headers["location"])
    assert (page.status, page.body, page.headers["content-type"]) == (200, PAGE, "text/html; charset=utf-8")
    policy = page.headers["content-security-policy"]
    digest = base64.b64encode(hashlib.sha256(LINES).digest()).decode()
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "script-src 'self' 'unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    assert ask(app, target="/docs/guide/index.html", headers=[("if-none-match", page.headers["etag"])]).status == 304


@pytest.mark.parametrize(
    "target",
    [
        "/docs/guide/",
        "/docs/guide/objects.inv",
        "/docs/guide/nothing.html",
        "/docs/guide/reference",
        "/docs/guide/reference/",
        "/docs/guide//reference/errors.html",
        "/docs/guide/reference/../index.html",
        "/docs/guide/../../../secret.html",
        "/docs/guide/..%2f..%2f..%2fsecret.html",
        "/docs/guide/%2e%2e/%2e%2e/%2e%2e/secret.html",
        "/docs/guide//etc/passwd",
    ],
)
def test_only_files_of_the_site_are_served_by_their_exact_names(site: Path, target: str) -> None:
    assert ask(build_toy(pages=guide_pages(site)), target=target).status == 404


def test_a_page_in_a_folder_is_served(site: Path) -> None:
    assert ask(build_toy(pages=guide_pages(site)), target="/docs/guide/reference/errors.html").status == 200


def test_nothing_but_get_is_taken(site: Path) -> None:
    assert ask(build_toy(pages=guide_pages(site)), "POST", "/docs/guide/index.html").status == 405


def test_an_error_leads_to_the_guide_where_it_is_installed(installed: Path) -> None:
    assert guide_folder() == installed
    error = orjson.loads(ask(build_toy(), target="/nothing").body)["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["details"]["docUrl"] == "/docs/guide/reference/errors.html#not-found"


def test_without_the_guide_there_is_no_page_and_no_link() -> None:
    guide_folder.cache_clear()
    assert guide_folder() is None
    assert guide_pages(None) == {}
    assert "docUrl" not in orjson.loads(ask(build_toy(), target="/nothing").body)["error"]["details"]


def test_a_distribution_that_was_made_without_the_site_is_none(installed: Path) -> None:
    (installed / "index.html").unlink()
    guide_folder.cache_clear()
    assert guide_folder() is None
