"""What a client of OAuth looks up first: who issues tokens here (RFC 8414), and for what (RFC 9728).

Both stand at the root, as their standards want it, and name the origin of the setting ``public_url``, never the Host
header: whoever could choose the issuer could choose the keys. Left out: ``resource_metadata`` in ``WWW-Authenticate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from identity_core.api.auth import GRANT
from identity_core.api.docs import static_page
from identity_core.api.request import Handler

ISSUER_PATH: Final = "/.well-known/oauth-authorization-server"
RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"


def metadata_pages(origin: str) -> dict[str, Handler]:
    """The two pages, for ``build_app``. ``origin`` is issuer, audience and resource in one."""
    pages = {ISSUER_PATH: issuer_metadata(origin), RESOURCE_PATH: resource_metadata(origin)}
    return {path: static_page(orjson.dumps(value), "application/json", ()) for path, value in pages.items()}


def issuer_metadata(origin: str) -> Mapping[str, Any]:
    """RFC 8414 §2. There is no authorization endpoint, so there are no response types. The ways in which a client shows
    who it is have no registered names: they are the schemes of ``Authorization`` that the document describes."""
    return {
        "issuer": origin,
        "token_endpoint": f"{origin}/api/v1/auth/token",
        "jwks_uri": f"{origin}/.well-known/jwks.json",
        "response_types_supported": [],
        "grant_types_supported": [GRANT],
        "token_endpoint_auth_methods_supported": ["DIDAuth", "ApiKey"],
        "service_documentation": f"{origin}/docs",
    }


def resource_metadata(origin: str) -> Mapping[str, Any]:
    """RFC 9728 §2."""
    return {
        "resource": origin,
        "authorization_servers": [origin],
        "bearer_methods_supported": ["header"],
        "resource_name": "Identity Service",
        "resource_documentation": f"{origin}/docs",
    }
