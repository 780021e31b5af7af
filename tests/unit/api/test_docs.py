import re

import orjson
import pytest

from tests.toy_document import DOCUMENT, ask, build_toy


def test_the_document_is_served_as_it_is() -> None:
    app = build_toy()
    reply = ask(app, target="/openapi.json")
    assert reply.body == orjson.dumps(DOCUMENT)
    assert ask(app, target="/openapi.json", headers=[("if-none-match", reply.headers["etag"])]).status == 304


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("{tag}", 304),
        ("W/{tag}", 304),
        ('"other", {tag}', 304),
        ('"other" ,W/{tag} , "more"', 304),
        ("*", 304),
        (" * ", 304),
        ('"other"', 200),
        ("w/{tag}", 200),
        ("", 200),
        ('{tag}, "' + "x" * 2_048 + '"', 200),
    ],
)
@pytest.mark.parametrize("place", ["/openapi.json", "/docs", "/docs/start.js"])
def test_static_page_follows_if_none_match(place: str, header: str, status: int) -> None:
    """RFC 9110 §13.1.2: a list of tags that are compared weakly, or ``*``."""
    app = build_toy()
    tag = ask(app, target=place).headers["etag"]
    reply = ask(app, target=place, headers=[("if-none-match", header.format(tag=tag))])
    assert (reply.status, reply.headers["etag"], reply.body == b"") == (status, tag, status == 304)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    app = build_toy()
    page = ask(app, target="/docs")
    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    links = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert len(links) == 4
    for link in links:
        reply = ask(app, target="/" + link)
        assert reply.status == 200
        assert reply.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in page.body.decode()


def test_swagger_ui_is_current_and_loads_nothing_from_elsewhere() -> None:
    app = build_toy()
    script = ask(app, target="/docs/swagger-ui-bundle.js")
    found = re.search(rb'PACKAGE_VERSION:"([0-9]+)\.([0-9]+)\.', script.body)
    assert found is not None
    assert (int(found[1]), int(found[2])) >= (5, 35)
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    style = ask(app, target="/docs/swagger-ui.css").body
    assert re.findall(rb"url\((?![\"']?data:)", style) == []
    assert b"@import" not in style


def test_the_pages_are_not_gated() -> None:
    assert ask(build_toy(), target="/docs", headers=[("x-api-key", "flood")]).status == 200
