"""The answer to a connection that is not taken, before anything was read of it: the one error shape, as octets."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from identity_core.api.errors import error_answer
from identity_core.api.guard import request_ids
from identity_core.domain.errors import IdentityError

_identify = request_ids(secrets.token_hex(4))


def refusal_octets(refusal: IdentityError, default_headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A whole response that ends the connection, with a request id of its own."""
    request_id = _identify()
    answer = error_answer(refusal, request_id)
    body = orjson.dumps(answer.body)
    headers = [
        *default_headers,
        *answer.encoded_headers(),
        (b"x-request-id", request_id.encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    return STATUS_LINE[answer.status] + lines + b"\r\n" + body
