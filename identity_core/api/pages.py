"""What is served beside the operations: the document itself, a page to read it in the browser, and what a client of OAuth looks up first.

``/openapi.json`` is the bundle, octet for octet: what Connexion would serve has every reference inlined. ``/docs`` is Swagger UI from the
folder ``swagger_ui`` (``openapi/copy_swagger_ui.py`` says whence) under a content security policy that lets nothing in from elsewhere.

Who issues tokens here (RFC 8414) and for what (RFC 9728) stands at the root, as the standards want it, and names the origin of the
setting ``public_url``, never the Host header: anyone who could choose the issuer could choose the keys.

``did.jsonl`` of a DID lies where its identifier says, for the methods that have such a place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from importlib import resources
from typing import Any, Final

import orjson

from identity_core.api.caching import content_tag, unless_known
from identity_core.api.contract import OpenApiDocument
from identity_core.api.did_logs import log_answer, published_log_answer
from identity_core.api.oauth import AUTHORIZE_PATH, TOKEN_PATH, TokenGrant, authorize
from identity_core.api.request import Answer, Handler, Headers, Request
from identity_core.crypto import jws
from identity_core.domain.authorization_code import S256
from identity_core.domain.callers import OF_AGENTS, OF_DIDS
from identity_core.domain.client_assertion import AUTH_METHOD
from identity_core.domain.dids.did import Did
from identity_core.domain.tokens import audiences
from identity_core.errors import NotFound
from identity_core.ports.did_method import DidMethod, PublishingDidMethod
from identity_core.use_cases.auth.tokens import GRANT
from identity_core.use_cases.dids.read import GetDidLog
from identity_core.use_cases.dids.witnesses import WitnessApprovals

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE: Final = b"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Identity service</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png" sizes="32x32">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
START: Final = b"""SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
});
"""
VENDORED: Final = {
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "favicon-32x32.png": "image/png",
}


def document_page(document: OpenApiDocument) -> dict[str, Handler]:
    """``/openapi.json``."""
    return {"/openapi.json": static_page(document.octets, "application/json", ())}


def docs_pages() -> dict[str, Handler]:
    """``/docs`` and the files that it loads."""
    policy = (("content-security-policy", POLICY), ("referrer-policy", "no-referrer"))
    pages = {
        "/docs": static_page(PAGE, "text/html; charset=utf-8", policy),
        "/docs/start.js": static_page(START, "text/javascript; charset=utf-8", policy),
    }
    for name, media_type in VENDORED.items():
        pages[f"/docs/{name}"] = partial(_vendored, name, media_type)
    return pages


def static_page(content: bytes, media_type: str, headers: Headers) -> Handler:
    """A page that is the same as long as the process lives, with its entity tag."""
    tag = content_tag(content)
    full = Answer(200, content, media_type, [*headers, ("etag", tag), ("cache-control", "public, max-age=300")])

    async def page(request: Request) -> Answer:
        return unless_known(request, tag, full)

    return page


@cache
def _file(name: str) -> bytes:
    return resources.files("identity_core.api").joinpath("swagger_ui", name).read_bytes()


async def _vendored(name: str, media_type: str, request: Request) -> Answer:
    """A file of Swagger UI, read when somebody first asks for it."""
    return Answer(200, _file(name), media_type, [("cache-control", "public, max-age=86400")])


LOG_FILE: Final = "did.jsonl"
WITNESS_FILE: Final = "did-witness.json"


def log_pages(methods: Iterable[DidMethod], log: GetDidLog, approvals: WitnessApprovals) -> dict[str, Handler]:
    """``did.jsonl`` of each method whose readers fetch the log of a DID from its own place, and ``did-witness.json`` beside it (did:webvh
    1.0, "Read (Resolve)", "DID Witnesses")."""
    pages: dict[str, Handler] = {}
    for method in methods:
        if isinstance(method, PublishingDidMethod) and method.log_path is not None:
            pages[method.log_path] = partial(_log, method, log, approvals)
            beside = method.log_path.removesuffix(LOG_FILE) + WITNESS_FILE
            pages[beside] = partial(_witness_file, method, log, approvals)
    return pages


async def _log(method: PublishingDidMethod, log: GetDidLog, approvals: WitnessApprovals, request: Request) -> Answer:
    """The log as ``text/jsonl``."""
    did = _named(method, request)
    found = await approvals.published(log, did)
    return await published_log_answer(log, did, found, request, "text/jsonl")


async def _witness_file(
    method: PublishingDidMethod, log: GetDidLog, approvals: WitnessApprovals, request: Request
) -> Answer:
    octets = await approvals.witness_file(log, _named(method, request))
    return log_answer(request, octets, octets, "application/json")


def _named(method: PublishingDidMethod, request: Request) -> Did:
    """Whose place this is. Raises ``NotFound``."""
    did = method.published(request.path["did"])
    if did is None:
        raise NotFound
    return did


ISSUER_PATH: Final = "/.well-known/oauth-authorization-server"
RESOURCE_PATH: Final = "/.well-known/oauth-protected-resource"
KEYS_PATH: Final = "/.well-known/jwks.json"


def resources_of(origin: str, agents: Iterable[str]) -> tuple[str, ...]:
    """What tokens are given for here: the issuer itself, the interface, and the places (paths) where ``agents`` call."""
    return (*audiences(origin), *(origin + place for place in agents))


def metadata_pages(
    origin: str, grants: Mapping[str, TokenGrant], agents: Sequence[str] = (), *, code_flow: bool = False
) -> dict[str, Handler]:
    """Return the pages by path. ``origin`` is issuer and audience in one; the metadata of each resource below it stands where its
    path says (RFC 9728 §3.1). ``agents`` are the places of ``resources_of``. With the ``code_flow`` the authorization endpoint is a page
    for people. The ``grants`` are read with the first request, when all extensions are open."""

    @cache
    def issuer() -> Handler:
        metadata = issuer_metadata(origin, grants, code_flow=code_flow)
        return static_page(orjson.dumps(metadata), "application/json", ())

    async def issuer_page(request: Request) -> Answer:
        return await issuer()(request)

    values = {}
    for resource in resources_of(origin, agents):
        scopes = OF_DIDS if resource in audiences(origin) else OF_AGENTS
        values[RESOURCE_PATH + resource.removeprefix(origin)] = resource_metadata(origin, resource, scopes)
    pages = {path: static_page(orjson.dumps(value), "application/json", ()) for path, value in values.items()}
    pages[ISSUER_PATH] = issuer_page
    return pages if code_flow else {**pages, AUTHORIZE_PATH: authorize}


def resource_metadata_url(origin: str, resource: str = audiences("")[1]) -> str:
    """Where the metadata of the resource with this path stands, by default the interface's, for challenges."""
    return f"{origin}{RESOURCE_PATH}{resource}"


def issuer_metadata(origin: str, grants: Mapping[str, TokenGrant], *, code_flow: bool = False) -> Mapping[str, Any]:
    """Return the metadata of RFC 8414 §2 and RFC 9207 §3, and what each of the ``grants`` adds. Without the ``code_flow`` there are no
    response types, and a list without elements is left out (§3.2)."""
    always: dict[str, Any] = {
        "issuer": origin,
        "authorization_endpoint": f"{origin}{AUTHORIZE_PATH}",
        "token_endpoint": f"{origin}{TOKEN_PATH}",
        "jwks_uri": origin + KEYS_PATH,
        "scopes_supported": sorted(OF_DIDS),
        "grant_types_supported": [GRANT, *grants],
        "token_endpoint_auth_methods_supported": [AUTH_METHOD],
        "token_endpoint_auth_signing_alg_values_supported": list(jws.ALGORITHMS),
        "service_documentation": f"{origin}/docs",
    }
    for grant in grants.values():
        always |= grant.metadata
    if not code_flow:
        return always
    return always | {
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        # Applications that hold no key have none to show.
        "token_endpoint_auth_methods_supported": [AUTH_METHOD, "none"],
        "code_challenge_methods_supported": [S256],
        "authorization_response_iss_parameter_supported": True,
    }


def resource_metadata(origin: str, resource: str, scopes: Iterable[str]) -> Mapping[str, Any]:
    """RFC 9728 §2."""
    return {
        "resource": resource,
        "authorization_servers": [origin],
        "scopes_supported": sorted(scopes),
        "bearer_methods_supported": ["header"],
        "resource_name": "Identity Service",
        "resource_documentation": f"{origin}/docs",
    }
