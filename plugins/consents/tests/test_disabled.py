"""A service without the extension: no page asks a holder, and everything else works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.page_requests import FORM, OWN, begin, cookie_of
from tests.attack.stranger import GENEROUS, PREFIX, Stranger, Wire
from tests.servers import local_server


@pytest.fixture(scope="module", params=["EXTENSIONS", "PLUGINS"])
def stranger(request: pytest.FixtureRequest) -> Iterator[Stranger]:
    with local_server(environment=GENEROUS | {f"IDENTITY_{request.param}_DISABLED": "consents"}) as server:
        wire = Wire(server.url)
        yield Stranger(wire, server.api_key)
        wire.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/ui/consent"), ("POST", "/ui/consent"), ("POST", "/ui/consent/reply"), ("GET", "/ui/ask")],
)
def test_page_of_consent_is_not_served(stranger: Stranger, method: str, path: str) -> None:
    body = b"request={}" if method == "POST" else None
    # GET shows the page of an unknown address.
    assert stranger.wire.call(method, path, body, OWN | FORM).status == (404 if method == "GET" else 405)


def test_pages_of_a_holder_do_not_link_to_it(stranger: Stranger) -> None:
    holder = stranger.holder()
    answer = stranger.wire.call("GET", "/ui/home", None, {"Accept": "text/html", "Cookie": cookie_of(begin(holder))})
    assert answer.status == 200
    assert b'href="/ui/agents"' in answer.body
    assert b"/ui/consent" not in answer.body
    assert b"/ui/ask" not in answer.body


def test_document_has_no_operation_of_requests(stranger: Stranger) -> None:
    paths = stranger.wire.call("GET", "/openapi.json").json["paths"]
    assert [path for path in paths if "/consents" in path or "/verifier-requests" in path] == []
    answer = stranger.wire.call("GET", f"{PREFIX}/consents", None, {"X-API-Key": stranger.api_key})
    assert (answer.status, answer.json["error"]["code"]) == (404, "NOT_FOUND")
