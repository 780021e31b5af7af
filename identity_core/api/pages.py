"""What is served beside the operations: the document itself and a page to read it in the browser.

``/openapi.json`` is the bundle, octet for octet: what Connexion would serve has every reference inlined. ``/docs`` is Swagger UI from the
folder ``swagger_ui`` (``openapi/copy_swagger_ui.py`` says whence) under a content security policy that lets nothing in from elsewhere.

``did.jsonl`` of a DID lies where its identifier says, for the methods that have such a place.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from importlib import resources
from typing import Final

from identity_core.api.caching import content_tag, unless_known
from identity_core.api.contract import OpenApiDocument
from identity_core.api.request import Answer, Handler, Headers, Request
from identity_core.api.stored_answers import log_answer, published_log_answer
from identity_core.domain.dids.did import Did
from identity_core.errors import NotFound
from identity_core.ports.did_method import DidMethod, PublishingDidMethod
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
