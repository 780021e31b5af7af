"""The server's HTTP parser, where it refuses octets before there is a request: that answer too has the one error shape.

Nothing of such a request is trusted, not even its X-Request-Id, so the answer has an id of its own. An offer to upgrade is
ignored, as RFC 9110 §7.8 allows, and not logged with advice to install a WebSocket library: there is nothing to install.
"""

from __future__ import annotations

import secrets

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from identity_core.api.errors import error_answer
from identity_core.api.guard import request_ids
from identity_core.domain.errors import InvalidRequest

_identify = request_ids(secrets.token_hex(4))


class HttpProtocol(HttpToolsProtocol):
    """Uvicorn's protocol on httptools with our answers."""

    def send_400_response(self, msg: str) -> None:
        """Answers and closes: where the next request would begin is unknown."""
        request_id = _identify()
        answer = error_answer(InvalidRequest("The octets are no valid HTTP/1.1 request."), request_id)
        body = orjson.dumps(answer.body)
        headers = [
            *self.server_state.default_headers,
            *answer.encoded_headers(),
            (b"x-request-id", request_id.encode("ascii")),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        lines = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(STATUS_LINE[answer.status] + lines + b"\r\n" + body)
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: the request is answered as if it had offered no upgrade."""
