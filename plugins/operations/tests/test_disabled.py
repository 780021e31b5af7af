"""A service without the extension: nothing erases records there, and everything else is served."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.stranger import GENEROUS, PREFIX, Wire
from tests.servers import local_server


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    environment = GENEROUS | {"IDENTITY_EXTENSIONS_DISABLED": "operations"}
    with local_server(environment=environment) as server:
        wire = Wire(server.url)
        yield wire
        wire.close()


def test_erasure_is_unknown_with_the_remedy(wire: Wire) -> None:
    answer = wire.call("DELETE", f"{PREFIX}/dashboard/records", {"kinds": ["timeline"]})
    error = answer.json["error"]
    assert (answer.status, error["code"], error["details"]["extension"]) == (404, "NOT_FOUND", "operations")
    assert error["details"]["remedy"] == "Enable it: identity extensions enable operations, then restart."


def test_document_is_closed_without_erasure(wire: Wire) -> None:
    document = wire.call("GET", "/openapi.json").json
    assert "/dashboard/records" not in document["paths"]
    assert "ErasedRecords" not in document["components"]["schemas"]
    assert "/dashboard/timeline" in document["paths"]


def test_service_is_ready(wire: Wire) -> None:
    assert wire.call("GET", "/ready").json["status"] == "ready"
    assert "operations" not in wire.call("GET", "/version").json["extensions"]
