"""The metadata of the issuer of tokens (RFC 8414) and of their resources (RFC 9728), which a client of OAuth reads first.

Both are at the root, as the standards require. They name the origin of the setting ``public_url`` and never the Host header,
because a client that chooses the issuer could choose the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import orjson

from identity_core.api.pages import static_page
from identity_core.api.request import Answer, Handler, Request
from identity_core.domain.callers import OF_DIDS
from identity_oauth.domain.client_assertion import AUTH_METHOD
from identity_oauth.domain.tokens import ALGORITHMS
from identity_oauth.token_endpoint import AUTHORIZE_PATH, TOKEN_PATH, TokenGrant
from identity_oauth.token_status import INTROSPECT_PATH, REVOKE_PATH
from identity_oauth.use_cases.tokens import GRANT

ISSUER_PATH: Final = "/.well-known/oauth-authorization-server"
RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"
KEYS_PATH: Final = "/.well-known/jwks.json"


def metadata_pages(
    origin: str, grants: Mapping[str, TokenGrant], resources: Mapping[str, Iterable[str]]
) -> dict[str, Handler]:
    """Return the pages by path. ``origin`` is issuer and audience in one; the metadata of each resource below it is at the URL that
    follows from its path (RFC 9728 §3.1). ``resources`` are scopes by path. The ``grants`` are read at the first request, when all
    extensions are open."""

    @cache
    def issuer() -> Handler:
        return static_page(orjson.dumps(issuer_metadata(origin, grants)), "application/json", ())

    async def issuer_page(request: Request) -> Answer:
        return await issuer()(request)

    pages: dict[str, Handler] = {ISSUER_PATH: issuer_page}
    for path, scopes in resources.items():
        metadata = orjson.dumps(resource_metadata(origin, origin + path, scopes))
        pages[RESOURCE_PATH + path] = static_page(metadata, "application/json", ())
    return pages


def resource_metadata_url(origin: str, resource: str) -> str:
    """Return the URL of the metadata of the resource with this path, for challenges (RFC 9728 §3.1)."""
    return f"{origin}{RESOURCE_PATH}{resource}"


def issuer_metadata(origin: str, grants: Mapping[str, TokenGrant]) -> Mapping[str, Any]:
    """Return the metadata of RFC 8414 §2 and RFC 9207 §3, and the additions of the ``grants``. Without the code flow there are no
    response types, and a list without elements is left out (§3.2)."""
    found: dict[str, Any] = {
        "issuer": origin,
        "authorization_endpoint": f"{origin}{AUTHORIZE_PATH}",
        "token_endpoint": f"{origin}{TOKEN_PATH}",
        "jwks_uri": origin + KEYS_PATH,
        "scopes_supported": sorted(OF_DIDS),
        "grant_types_supported": [GRANT, *grants],
        "token_endpoint_auth_methods_supported": [AUTH_METHOD],
        "token_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "revocation_endpoint": origin + REVOKE_PATH,
        "revocation_endpoint_auth_methods_supported": [AUTH_METHOD, "none"],
        "revocation_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "introspection_endpoint": origin + INTROSPECT_PATH,
        "introspection_endpoint_auth_methods_supported": [AUTH_METHOD],
        "introspection_endpoint_auth_signing_alg_values_supported": list(ALGORITHMS),
        "service_documentation": f"{origin}/docs",
    }
    for grant in grants.values():
        found |= grant.metadata
    return found


def resource_metadata(origin: str, resource: str, scopes: Iterable[str]) -> Mapping[str, Any]:
    """Return the metadata of RFC 9728 §2."""
    return {
        "resource": resource,
        "authorization_servers": [origin],
        "scopes_supported": sorted(scopes),
        "bearer_methods_supported": ["header"],
        "resource_name": "Identity Service",
        "resource_documentation": f"{origin}/docs",
    }
