"""Bytes of requests and answers: the rules for header fields, reading a body with a maximum size and a deadline,
sending an answer.

The rules apply to every operation (openapi/DECISIONS.md §1.4): the fields that the service reads, the maximum of
bytes and fields, the meaning of a repetition, and the codings of a body. ``Origins`` has the headers for pages of
other origins.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any, Final

from msgspec import Struct

from identity_codec.structs import encode
from identity_core.api.request import Answer, Headers, Parts, Request
from identity_core.errors import HeadersTooLarge, InvalidRequest, PayloadTooLarge

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Run = Callable[[Request, Scope, Receive], Awaitable[Answer]]

# A browser must not guess another type than the declared one.
AS_DECLARED: Final = (b"x-content-type-options", b"nosniff")
MAX_HEADER_OCTETS: Final = 32 * 1024
MAX_HEADERS: Final = 100
MAX_TARGET_OCTETS: Final = 8 * 1024
# A longer body is sent in parts of this size, each when the client has read the one before.
PART_BYTES: Final = 64 * 1024

# The header fields that the service reads. Other fields are ignored, whatever their content.
READ: Final = {
    name.encode("ascii"): name
    for name in (
        "accept",
        "access-control-request-method",
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "origin",
        "traceparent",
        "transfer-encoding",
        "x-api-key",
        "x-forwarded-for",
        "x-request-id",
    )
}

# The fields that pages read in addition. Operations never get a cookie, so a cookie cannot authorize them.
READ_BY_PAGES: Final = {
    name.encode("ascii"): name
    for name in ("accept-encoding", "accept-language", "cookie", "hx-request", "sec-fetch-site")
}

# Two differing values of these are ambiguous. The gate handles two credentials.
SINGLE: Final = ("content-type", "content-length", "content-encoding", "idempotency-key")

# RFC 9112 §3.2: a second Host, even an equal one, and a value that is not a host are refused.
_HOST = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=%:\[\]-]+")
_LENGTH = re.compile(r"[0-9]{1,15}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def admit_headers(request: Request, scope: Scope, identify: Callable[[], str]) -> None:
    """Fill ``request`` from the scope's header fields.

    Raises ``HeadersTooLarge`` and ``InvalidRequest``: when a field breaks a rule.
    """
    raw = scope["headers"]
    fields: dict[str, str] = {}
    size = 0
    not_ascii = None
    for data, value in raw:
        size += len(data) + len(value)
        name = READ.get(data)
        if name is None:
            continue
        if not value.isascii():
            not_ascii = name
            continue
        if name in fields:
            _repeat(request, fields, name, value.decode("ascii"))
        else:
            fields[name] = value.decode("ascii")
    request.headers = fields
    given = fields.get("x-request-id")
    request.request_id = given if given is not None and _REQUEST_ID.fullmatch(given) else identify()
    if size > MAX_HEADER_OCTETS or len(raw) > MAX_HEADERS:
        raise HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS})
    if not_ascii is not None:
        raise InvalidRequest("A header holds characters outside ASCII.", details={"header": not_ascii})
    if scope["http_version"] in ("0.9", "2.0"):
        raise InvalidRequest("Requests must be HTTP/1.0 or HTTP/1.1.")
    if _HOST.fullmatch(fields.get("host", "").strip(" \t")) is None:
        raise InvalidRequest("The Host header is missing, repeated or invalid.", details={"header": "host"})
    if request.repeated:
        _refuse_ambiguity(request)
    if "content-length" in fields and not _LENGTH.fullmatch(request.headers["content-length"]):
        raise InvalidRequest("Content-Length is not a length.", details={"header": "content-length"})
    coding = fields.get("transfer-encoding")
    if coding is not None and (coding.strip(" \t").lower() != "chunked" or scope["http_version"] == "1.0"):
        # The parser reads only the last coding, and RFC 9112 §6.1 forbids codings with HTTP/1.0.
        says = "A body is chunked or has a length; no other coding is known."
        raise InvalidRequest(says, details={"header": "transfer-encoding"})
    query = scope["query_string"]
    if len(request.raw_path) + len(query) + bool(query) > MAX_TARGET_OCTETS:
        raise InvalidRequest("The request target is too long.", details={"maxBytes": MAX_TARGET_OCTETS})


def admit_page_headers(request: Request, scope: Scope) -> None:
    """Add the fields of ``READ_BY_PAGES``. A value outside ASCII is left out, because cookies of other services on
    the host are not an error."""
    fields = dict(request.headers)
    for data, value in scope["headers"]:
        name = READ_BY_PAGES.get(data)
        if name is None or not value.isascii():
            continue
        text = value.decode("ascii")
        joint = "; " if name == "cookie" else ", "
        fields[name] = f"{fields[name]}{joint}{text}" if name in fields else text
    request.headers = fields


def _repeat(request: Request, fields: dict[str, str], name: str, value: str) -> None:
    repeated = dict(request.repeated)
    repeated[name] = [*repeated.get(name, (fields[name],)), value]
    request.repeated = repeated
    fields[name] = f"{fields[name]}, {value}"


def _refuse_ambiguity(request: Request) -> None:
    """Refuse differing repetitions of the headers in ``SINGLE``; equal ones count once."""
    fields = dict(request.headers)
    for name in SINGLE:
        values = request.repeated.get(name)
        if values is None:
            continue
        if len(set(values)) > 1:
            raise InvalidRequest("A header appears twice with different values.", details={"header": name})
        fields[name] = values[0]
    request.headers = fields


class ClientGone(Exception):
    """The client closed the connection before its request was complete, so no answer can be sent."""


async def read_body(request: Request, receive: Receive, cap: int) -> bytes:
    """Return the whole body. The server ends the connection of a client that does not send it in time.

    Raises ``PayloadTooLarge``: past ``cap`` bytes; ``ClientGone``: when the client disconnects.
    """
    declared = request.header("content-length")
    if declared is not None and int(declared) > cap:
        raise PayloadTooLarge(details={"maxBytes": cap})
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size, more = size + len(parts[-1]), message.get("more_body", False)
        if size > cap:
            raise PayloadTooLarge(details={"maxBytes": cap})
    return b"".join(parts)


async def deliver(answer: Answer, request: Request, send: Send) -> None:
    """Send ``answer`` with the request's id and the headers that the gate has set; without its body for HEAD."""
    body = answer.body
    if type(body) is Parts:
        await _deliver_parts(answer, body, request, send)
        return
    if type(body) is not bytes:
        body = b"" if body is None else encode(body)
    headers = _headers(answer, request)
    if answer.status == 304 or answer.status == 204:
        body = b""
    else:
        headers.append((b"content-length", b"%d" % len(body)))
    if request.method == "HEAD":
        body = b""
    request.status = answer.status
    request.sent_octets = len(body)
    try:
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        sent = 0
        while len(body) - sent > PART_BYTES:
            await send({"type": "http.response.body", "body": body[sent : sent + PART_BYTES], "more_body": True})
            sent += PART_BYTES
        await send({"type": "http.response.body", "body": body[sent:]})
    except OSError as error:
        raise ClientGone from error


async def _deliver_parts(answer: Answer, body: Parts, request: Request, send: Send) -> None:
    """Send the parts, each made when the client has read most of those before it.

    Raises ``ClientGone``, and the errors of making a part: the head has been sent by then, and the connection breaks.
    """
    headers = [*_headers(answer, request), (b"content-length", b"%d" % body.byte_count)]
    request.status = answer.status
    await _send(send, {"type": "http.response.start", "status": answer.status, "headers": headers})
    if request.method != "HEAD":
        async for part in body.parts:
            request.sent_octets += len(part)
            await _send(send, {"type": "http.response.body", "body": part, "more_body": True})
    await _send(send, {"type": "http.response.body", "body": b""})


async def _send(send: Send, message: Message) -> None:
    try:
        await send(message)
    except OSError as error:
        raise ClientGone from error


def _headers(answer: Answer, request: Request) -> list[tuple[bytes, bytes]]:
    headers = [*answer.encoded_headers(), AS_DECLARED, (b"x-request-id", request.request_id.encode("ascii"))]
    for name, value in (*request.answer_headers, *request.cross_origin):
        headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
    return headers


ANY: Final = "*"
# Headers that a script may read and send in addition to the safelisted ones. Accept is not safelisted if it has a
# quoted profile.
_EXPOSED: Final = (
    "Access-Control-Expose-Headers",
    "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id",
)
_PREFLIGHT: Final = (
    ("Access-Control-Allow-Methods", "GET, HEAD"),
    ("Access-Control-Allow-Headers", "Accept, If-None-Match, X-Request-Id"),
    ("Access-Control-Max-Age", "7200"),
)
_EVERYBODY: Final = (("Access-Control-Allow-Origin", ANY), _EXPOSED)
_BY_ORIGIN: Final = ("Vary", "Origin")


class Origins(Struct, frozen=True):
    """The origins whose pages may read public answers in a browser (Fetch, "CORS protocol"); ``*`` means all.

    Public are GET of operations that need no credential, and the pages outside the document. Credentials are never
    allowed: a page must not use those of the browser.
    """

    allowed: Sequence[str]

    def headers(self, request: Request) -> Headers:
        """Return the headers of an answer. If they depend on the origin, a cache must know that, even for a request
        without one."""
        if ANY in self.allowed:
            return _EVERYBODY
        if not self.allowed:
            return ()
        origin = request.header("origin")
        if origin is None or origin not in self.allowed:
            return (_BY_ORIGIN,)
        return (("Access-Control-Allow-Origin", origin), _EXPOSED, _BY_ORIGIN)

    def preflight(self, request: Request) -> Headers:
        """Return the headers of the answer to OPTIONS, by which a browser decides whether a page may send its GET."""
        headers = self.headers(request)
        if request.header("access-control-request-method") in ("GET", "HEAD") and len(headers) > 1:
            return (*headers, *_PREFLIGHT)
        return headers
