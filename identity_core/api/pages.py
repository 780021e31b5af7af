"""Pages outside the document: the document itself, a page and a guide to read it in the browser, and the logs of
DIDs.

``/openapi.json`` is the bundle, byte for byte: Connexion would serve it with every reference inlined. ``/docs`` is
Swagger UI from the folder ``swagger_ui`` (``openapi/copy_swagger_ui.py``), under a content security policy that
blocks other origins. ``/docs/guide`` is the documentation, if its distribution is installed (``docs/README.md``).
``did.jsonl`` is served at the path of the DID's identifier, for methods that define such a path.

A page is charged to the address. Pages and their forms may read a cookie. Operations never do.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from identity_core.api.caching import content_tag, unless_known
from identity_core.api.contract import OpenApiDocument
from identity_core.api.decode import has_body, refuse_body
from identity_core.api.errors import GUIDE
from identity_core.api.log_answers import log_answer, published_log_answer
from identity_core.api.request import FORM, Answer, Cost, Handler, Headers, PageForm, Request
from identity_core.api.security import Gate
from identity_core.api.transport import Receive, Run, Scope, admit_page_headers, read_body
from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidRequest, NotFound, UnsupportedMediaType
from identity_core.ports.did_method import DidMethod, PublishingDidMethod
from identity_core.use_cases.dids.read import GetDidLog
from identity_core.use_cases.transparency import WitnessApprovals

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
    """Return the page ``/openapi.json``."""
    return {"/openapi.json": static_page(document.encoded, "application/json", ())}


def docs_pages() -> dict[str, Handler]:
    """Return ``/docs`` and the files that it loads."""
    policy = (("content-security-policy", POLICY), ("referrer-policy", "no-referrer"))
    pages = {
        "/docs": static_page(PAGE, "text/html; charset=utf-8", policy),
        "/docs/start.js": static_page(START, "text/javascript; charset=utf-8", policy),
    }
    for name, media_type in VENDORED.items():
        pages[f"/docs/{name}"] = partial(_vendored, name, media_type)
    return pages


def static_page(content: bytes, media_type: str, headers: Headers) -> Handler:
    """Return a page that does not change while the process runs, with its entity tag."""
    tag = content_tag(content)
    full = Answer(200, content, media_type, [*headers, ("etag", tag), ("cache-control", "public, max-age=300")])

    async def page(request: Request) -> Answer:
        return unless_known(request, tag, full)

    return page


@cache
def _file(name: str) -> bytes:
    return resources.files("identity_core.api").joinpath("swagger_ui", name).read_bytes()


async def _vendored(name: str, media_type: str, request: Request) -> Answer:
    """Return a file of Swagger UI, read at its first request."""
    return Answer(200, _file(name), media_type, [("cache-control", "public, max-age=86400")])


LOG_FILE: Final = "did.jsonl"
WITNESS_FILE: Final = "did-witness.json"


def log_pages(methods: Iterable[DidMethod], log: GetDidLog, approvals: WitnessApprovals) -> dict[str, Handler]:
    """Return ``did.jsonl`` and ``did-witness.json`` for each method whose readers fetch them from a path of the DID
    (did:webvh 1.0, "Read (Resolve)", "DID Witnesses")."""
    pages: dict[str, Handler] = {}
    for method in methods:
        if isinstance(method, PublishingDidMethod) and method.log_path is not None:
            pages[method.log_path] = partial(_log, method, log, approvals)
            beside = method.log_path.removesuffix(LOG_FILE) + WITNESS_FILE
            pages[beside] = partial(_witness_file, method, log, approvals)
    return pages


async def _log(method: PublishingDidMethod, log: GetDidLog, approvals: WitnessApprovals, request: Request) -> Answer:
    """Return the log as ``text/jsonl``."""
    did = _named(method, request)
    found = await approvals.published(log, did)
    return await published_log_answer(log, did, found, request, "text/jsonl")


async def _witness_file(
    method: PublishingDidMethod, log: GetDidLog, approvals: WitnessApprovals, request: Request
) -> Answer:
    data = await approvals.witness_file(log, _named(method, request))
    return log_answer(request, data, data, "application/json")


def _named(method: PublishingDidMethod, request: Request) -> Did:
    """Return the DID whose log is at this path. Raises ``NotFound``: for another path."""
    did = method.published(request.path["did"])
    if did is None:
        raise NotFound
    return did


MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_INLINE: Final = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def guide_pages(folder: Path | None) -> dict[str, Handler]:
    """Return the site in ``folder``, and the redirect to its first page; nothing without a site.

    Only files that existed at startup are served, by their exact names. A page may run the scripts of the site and
    its own inline scripts: the content security policy has their hashes.
    """
    if folder is None:
        return {}
    files = {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in MEDIA_TYPES and path.is_file()
    }

    @cache
    def read(name: str) -> Handler:
        data, suffix = files[name].read_bytes(), files[name].suffix
        policy = [("content-security-policy", _policy(data))] if suffix == ".html" else []
        return static_page(data, MEDIA_TYPES[suffix], [("referrer-policy", "no-referrer"), *policy])

    async def page(request: Request) -> Answer:
        """Return a file, read at its first request."""
        if request.path["file"] not in files:
            raise NotFound
        return await read(request.path["file"])(request)

    return {GUIDE: _to_the_first_page, f"{GUIDE}/{{file:path}}": page}


async def _to_the_first_page(request: Request) -> Answer:
    headers: Headers = [("location", f"{GUIDE}/index.html"), ("cache-control", "public, max-age=300")]
    return Answer(308, b"", MEDIA_TYPES[".html"], headers)


def _policy(page: bytes) -> str:
    """Return a policy that allows scripts of the site, the inline scripts of ``page`` and style attributes, which its
    theme uses. It allows nothing from other origins."""
    hashes = [base64.b64encode(hashlib.sha256(script).digest()).decode("ascii") for script in _INLINE.findall(page)]
    scripts = " ".join(["'self'", *(f"'sha256-{one}'" for one in hashes)])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


MAX_FIELDS: Final = 32


def page_run(page: Handler, gate: Gate) -> Run:
    """Return the function that processes GET of a page."""

    async def run(request: Request, scope: Scope, receive: Receive) -> Answer:
        await gate.charge(request)
        refuse_body(request)
        admit_page_headers(request, scope)
        request.query_octets = scope["query_string"]
        request.query = _fields(request.query_octets)
        return await page(request)

    return run


def form_run(form: PageForm, gate: Gate, max_body: int) -> Run:
    """Return the function that processes POST of a form. ``max_body``: the maximum size of its body in bytes."""
    cap = max_body if form.max_body is None else min(max_body, form.max_body)
    operation = form.operation
    handler = gate.shared(form.handler) if operation is not None and operation.waits else form.handler

    async def run(request: Request, scope: Scope, receive: Receive) -> Answer:
        if operation is not None:
            request.operation, request.operation_id = operation, operation.operation_id
        media_type = (request.header("content-type") or "").partition(";")[0].strip().lower()
        if has_body(request) and media_type != form.media_type:
            raise UnsupportedMediaType(f"Send the body as {form.media_type}.", details={"supported": [form.media_type]})
        request.body_octets = await read_body(request, receive, cap)
        await gate.charge(request, (Cost() if operation is None else operation.cost).tokens(request))
        admit_page_headers(request, scope)
        if form.media_type == FORM:
            request.body = _fields(request.body_octets)
        return await handler(request)

    return run


def _fields(data: bytes) -> dict[str, str]:
    """Return names and values of a form, or of the query of a page. Of a repeated name the last value counts."""
    try:
        return dict(parse_qsl(data.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS))
    except ValueError:
        raise InvalidRequest("The form is not percent-encoded UTF-8, or has too many fields.") from None


def form_members(data: bytes) -> Mapping[str, str]:
    """Return names and values of a form, each name once (RFC 6749 §3.2). A member without a value counts as absent."""
    pairs = parse_qsl(data.decode("ascii"), keep_blank_values=True, errors="strict")
    found = dict(pairs)
    if len(found) != len(pairs):
        raise InvalidRequest("A parameter is repeated.")
    return {name: value for name, value in found.items() if value}
