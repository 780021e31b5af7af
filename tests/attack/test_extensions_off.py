"""An extension that is off: its paths are 404 with the remedy, and neither the document nor the version lists it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.attack.raw_http import exchange, request
from tests.attack.stranger import GENEROUS, Wire
from tests.servers import local_server

pytest.importorskip("identity_vcalm")

OFF = {"IDENTITY_EXTENSIONS_ENABLED": ""}
PATHS = [
    f"{base}/vcalm/{name}"
    for base in ("", "/api/v1")
    for name in ("credentials/verify", "presentations/verify", "challenges")
]


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with local_server(environment=GENEROUS | OFF) as server:
        wire = Wire(server.url)
        yield wire
        wire.close()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS", "DELETE", "PATCH"])
def test_path_of_an_extension_that_is_off_is_404(wire: Wire, method: str, path: str) -> None:
    found = exchange(wire.address, request(method, path.encode(), b"Content-Type: application/json", body=b"{"))
    assert found.status == 404
    error = json.loads(found.body)["error"]
    assert error["code"] == "NOT_FOUND"
    assert error["details"]["extension"] == "vcalm"
    assert error["details"]["remedy"] == "Enable it: identity extensions enable vcalm, then restart."


@pytest.mark.parametrize(
    "path", ["/vcalm", "/vcalm/challenges/", "/vcalm/none", "/vcalm/challenges%2f", "//vcalm/challenges"]
)
def test_unknown_path_has_no_remedy(wire: Wire, path: str) -> None:
    found = exchange(wire.address, request("POST", path.encode(), body=b""))
    assert found.status == 404
    assert "extension" not in json.loads(found.body)["error"].get("details", {})


def test_document_and_version_leave_it_out(wire: Wire) -> None:
    assert "vcalm" not in wire.call("GET", "/version", None).json["extensions"]
    assert b"/vcalm/" not in exchange(wire.address, request("GET", b"/openapi.json")).body


def test_document_and_version_list_what_is_on() -> None:
    with local_server(environment=GENEROUS) as server:
        wire = Wire(server.url)
        assert "vcalm" in wire.call("GET", "/version", None).json["extensions"].split(", ")
        assert b"/vcalm/challenges" in exchange(wire.address, request("GET", b"/openapi.json")).body
        wire.close()


def test_path_of_an_extension_that_is_off_is_charged() -> None:
    slow = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001", "IDENTITY_THROTTLE_ADDRESS_BURST": "3"}
    with local_server(environment=OFF | slow) as server:
        wire = Wire(server.url)
        sent = request("POST", b"/vcalm/challenges", body=b"{}")
        statuses = [exchange(wire.address, sent).status for _ in range(4)]
        assert (statuses[0], statuses[-1]) == (404, 429)
        wire.close()
