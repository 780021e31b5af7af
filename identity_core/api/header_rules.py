"""The rules for header fields that hold for every operation (openapi/DECISIONS.md §1.4), whatever it is.

Which fields the service reads, how many octets and fields there may be, what a repetition means, and how a body may be
coded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from identity_core.api.request import Request
from identity_core.api.transport import Scope
from identity_core.errors import HeadersTooLarge, InvalidRequest

MAX_HEADER_OCTETS: Final = 32 * 1024
MAX_HEADERS: Final = 100
MAX_TARGET_OCTETS: Final = 8 * 1024

# The header fields that the service reads. Others pass unread, whatever they hold.
READ: Final = {
    name.encode("ascii"): name
    for name in (
        "accept",
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "traceparent",
        "transfer-encoding",
        "x-api-key",
        "x-forwarded-for",
        "x-request-id",
    )
}

# Two of these that differ leave it open which one is meant. Two credentials are the gate's to judge.
SINGLE: Final = ("host", "content-type", "content-length", "content-encoding", "idempotency-key")

_LENGTH = re.compile(r"[0-9]{1,15}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def admit_headers(request: Request, scope: Scope, identify: Callable[[], str]) -> None:
    """Fills ``request`` from the scope's header fields and refuses what breaks a rule.

    Raises ``HeadersTooLarge`` and ``InvalidRequest``.
    """
    raw = scope["headers"]
    fields: dict[str, str] = {}
    size = 0
    not_ascii = None
    for octets, value in raw:
        size += len(octets) + len(value)
        name = READ.get(octets)
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
    if scope["http_version"] == "0.9":
        raise InvalidRequest("Requests are HTTP/1.0 or later.")
    if not fields.get("host"):
        raise InvalidRequest("The Host header is missing.", details={"header": "host"})
    if request.repeated:
        _refuse_ambiguity(request)
    if "content-length" in fields and not _LENGTH.fullmatch(request.headers["content-length"]):
        raise InvalidRequest("Content-Length is not a length.", details={"header": "content-length"})
    coding = fields.get("transfer-encoding")
    if coding is not None and (coding.strip(" \t").lower() != "chunked" or scope["http_version"] == "1.0"):
        # The parser looks at the last coding alone, and RFC 9112 §6.1 takes none with HTTP/1.0.
        says = "A body is chunked or has a length; no other coding is known."
        raise InvalidRequest(says, details={"header": "transfer-encoding"})
    if len(request.raw_path) + len(scope["query_string"]) > MAX_TARGET_OCTETS:
        raise InvalidRequest("The request target is too long.", details={"maxBytes": MAX_TARGET_OCTETS})


def _repeat(request: Request, fields: dict[str, str], name: str, value: str) -> None:
    repeated = dict(request.repeated)
    repeated[name] = [*repeated.get(name, (fields[name],)), value]
    request.repeated = repeated
    fields[name] = f"{fields[name]}, {value}"


def _refuse_ambiguity(request: Request) -> None:
    """Refuses differing repetitions of the headers in ``SINGLE``; equal ones count once."""
    fields = dict(request.headers)
    for name in SINGLE:
        values = request.repeated.get(name)
        if values is None:
            continue
        if len(set(values)) > 1:
            raise InvalidRequest("A header appears twice with different values.", details={"header": name})
        fields[name] = values[0]
    request.headers = fields
