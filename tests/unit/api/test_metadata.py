"""The documents that a client of OAuth looks up."""

import asyncio
from typing import Any

import orjson
import pytest

from identity_core.api.contract import load_document
from identity_core.api.pages import ISSUER_PATH, RESOURCE_PATH, metadata_pages
from identity_core.api.placement import ROOT_ALIASES
from identity_core.api.request import Request

ORIGIN = "https://id.example"


def page(path: str, **headers: str) -> Any:
    return asyncio.run(metadata_pages(ORIGIN)[path](Request(headers=headers)))


def test_the_issuer_is_the_origin_and_its_addresses_exist() -> None:
    found = orjson.loads(page(ISSUER_PATH).body)
    assert found["issuer"] == ORIGIN
    document = load_document().value
    base = document["servers"][0]["url"]
    assert found["token_endpoint"].removeprefix(ORIGIN + base) in document["paths"]
    assert found["jwks_uri"].removeprefix(ORIGIN) in ROOT_ALIASES
    assert found["response_types_supported"] == []


def test_the_resource_is_its_own_issuer() -> None:
    found = orjson.loads(page(RESOURCE_PATH).body)
    assert (found["resource"], found["authorization_servers"]) == (ORIGIN, [ORIGIN])


@pytest.mark.parametrize("path", [ISSUER_PATH, RESOURCE_PATH])
def test_they_are_json_and_may_be_kept(path: str) -> None:
    answer = page(path)
    headers = dict(answer.headers)
    assert (answer.status, answer.media_type) == (200, "application/json")
    assert headers["cache-control"] == "public, max-age=300"
    assert page(path, **{"if-none-match": headers["etag"]}).status == 304
