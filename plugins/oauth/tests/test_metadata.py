"""The documents that a client of OAuth looks up."""

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

import orjson
import pytest
from identity_oauth.authorization_endpoint import AuthorizationCodeGrant
from identity_oauth.domain.tokens import INTERFACE, audiences
from identity_oauth.metadata import ISSUER_PATH, RESOURCE_PATH, metadata_pages, resource_metadata_url
from identity_oauth.token_endpoint import AUTHORIZE_PATH, TOKEN_PATH, TokenGrant, authorize
from identity_oauth.token_status import INTROSPECT_PATH, REVOKE_PATH

from identity_core.api.contract import operations
from identity_core.api.request import Answer, Request
from identity_core.domain.callers import KNOWN, OF_AGENTS, OF_DIDS
from tests.reference import DOCUMENT

ORIGIN = "https://id.example"
AGENTS = "/mcp"


class CodeGrant(TokenGrant):
    async def __call__(self, request: Request, form: Mapping[str, str]) -> Answer:
        raise AssertionError


class OtherGrant(CodeGrant):
    metadata: ClassVar = {"other_grant_is_anonymous": True}


RESOURCES = {"": OF_DIDS, INTERFACE: OF_DIDS}


def page(path: str, grants: Any = None, **headers: str) -> Any:
    return asyncio.run(metadata_pages(ORIGIN, grants or {}, RESOURCES)[path](Request(headers=headers)))


def test_the_issuer_is_the_origin_and_its_addresses_exist() -> None:
    found = orjson.loads(page(ISSUER_PATH).body)
    assert found["issuer"] == ORIGIN
    assert found["token_endpoint"] == ORIGIN + TOKEN_PATH
    assert found["authorization_endpoint"] == ORIGIN + AUTHORIZE_PATH
    assert (found["revocation_endpoint"], found["introspection_endpoint"]) == (
        ORIGIN + REVOKE_PATH,
        ORIGIN + INTROSPECT_PATH,
    )
    aliases = [alias for _, _, each in operations(DOCUMENT) for alias in each.get("x-aliases", ())]
    assert found["jwks_uri"].removeprefix(ORIGIN) in aliases
    for place in ("token", "revocation", "introspection"):
        # RFC 8414 §2: needed where private_key_jwt is supported.
        assert found[f"{place}_endpoint_auth_signing_alg_values_supported"] == ["EdDSA", "Ed25519"]
    assert set(found["scopes_supported"]) < KNOWN
    # RFC 8414 §3.2: nothing empty.
    assert all(found.values())


def test_the_code_flow_is_told_where_it_is() -> None:
    found = orjson.loads(page(ISSUER_PATH, grants={"authorization_code": AuthorizationCodeGrant}).body)
    assert found.items() >= {"response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"]}.items()
    assert found["authorization_response_iss_parameter_supported"] is True
    assert "authorization_code" in found["grant_types_supported"]
    without = orjson.loads(page(ISSUER_PATH).body)
    assert "authorization_code" not in without["grant_types_supported"]
    assert without["token_endpoint_auth_methods_supported"] == ["private_key_jwt"]
    assert without.keys().isdisjoint({"response_types_supported", "code_challenge_methods_supported"})


def test_grants_of_extensions_are_listed_with_their_metadata() -> None:
    """Grants are added while the extensions are opened, after the pages were made."""
    grants: dict[str, TokenGrant] = {}
    pages = metadata_pages(ORIGIN, grants, RESOURCES)
    grants["urn:other"] = OtherGrant()
    found = orjson.loads(asyncio.run(pages[ISSUER_PATH](Request())).body)
    assert found["grant_types_supported"] == ["client_credentials", "urn:other"]
    assert found["other_grant_is_anonymous"] is True
    without = orjson.loads(page(ISSUER_PATH).body)
    assert without["grant_types_supported"] == ["client_credentials"]
    assert "other_grant_is_anonymous" not in without


def test_nobody_is_redirected_anywhere() -> None:
    answer: Any = asyncio.run(authorize(Request()))
    assert (answer.status, answer.body["error"]) == (400, "unauthorized_client")
    assert not any(name.lower() == "location" for name, _ in answer.headers)


@pytest.mark.parametrize("resource", audiences(ORIGIN))
def test_a_resource_has_its_metadata_where_its_path_says(resource: str) -> None:
    found = orjson.loads(page(RESOURCE_PATH + resource.removeprefix(ORIGIN)).body)
    assert (found["resource"], found["authorization_servers"]) == (resource, [ORIGIN])


def test_mcp_resource_exists_only_if_enabled() -> None:
    path = RESOURCE_PATH + "/mcp"
    assert path not in metadata_pages(ORIGIN, {}, RESOURCES)
    served: Any = asyncio.run(metadata_pages(ORIGIN, {}, RESOURCES | {"/mcp": OF_AGENTS})[path](Request()))
    found = orjson.loads(served.body)
    assert (found["resource"], found["authorization_servers"]) == (ORIGIN + "/mcp", [ORIGIN])
    assert set(found["scopes_supported"]) == OF_AGENTS


def test_a_challenge_names_the_metadata_of_the_interface() -> None:
    place = resource_metadata_url(ORIGIN, INTERFACE).removeprefix(ORIGIN)
    assert orjson.loads(page(place).body)["resource"] == ORIGIN + INTERFACE


@pytest.mark.parametrize("path", [ISSUER_PATH, RESOURCE_PATH])
def test_they_are_json_and_may_be_kept(path: str) -> None:
    answer = page(path)
    headers = dict(answer.headers)
    assert (answer.status, answer.media_type) == (200, "application/json")
    assert headers["cache-control"] == "public, max-age=300"
    assert page(path, **{"if-none-match": headers["etag"]}).status == 304
