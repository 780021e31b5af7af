import re

import orjson

from tests.toy import DOCUMENT, ask, build_toy


def test_the_document_is_served_as_it_is() -> None:
    app = build_toy()
    reply = ask(app, target="/openapi.json")
    assert reply.body == orjson.dumps(DOCUMENT)
    assert ask(app, target="/openapi.json", headers=[("if-none-match", reply.headers["etag"])]).status == 304


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
