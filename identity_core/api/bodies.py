"""The body of a request: media type before it is read, strict JSON and the document's schema after authentication."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from identity_core.api.request import Request
from identity_core.api.schemas import Schemas, check
from identity_core.api.transport import Receive, read_body
from identity_core.codec.strict_json import JsonRefused
from identity_core.errors import InvalidRequest, UnsupportedMediaType

MAX_CONTENT_TYPE: Final = 256

_PARAMETER = re.compile(r'\s*([!#$%&\'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?:([!#$%&\'*+.^_`|~0-9A-Za-z-]+)|"([^"\\]*)")\s*')


class RequestBody:
    """What one operation takes: media types, cap in octets, schema."""

    def __init__(self, declared: Mapping[str, Any], schemas: Schemas, cap: int) -> None:
        self._media = tuple(media.lower() for media in declared["content"])
        self._required = bool(declared.get("required", False))
        (content,) = declared["content"].values()
        self._validator = schemas.compile(content["schema"])
        self._cap = cap

    async def read(self, request: Request, receive: Receive, seconds: float) -> bytes:
        """The octets. Raises ``UnsupportedMediaType`` and what ``read_body`` raises."""
        content_type = request.header("content-type")
        if content_type not in self._media and (content_type is not None or has_body(request)):
            self._check_media(content_type or "")
        if request.header("content-encoding") not in (None, "identity"):
            raise UnsupportedMediaType("Compressed bodies are not read.")
        return await read_body(request, receive, cap=self._cap, seconds=seconds)

    def parse(self, request: Request) -> Any:
        """The checked JSON value; None for a body that may be missing and is. Raises ``InvalidRequest``."""
        if not request.body_octets:
            if self._required:
                raise InvalidRequest("The operation needs a body.")
            return None
        try:
            value = request.json()
        except JsonRefused as error:
            raise InvalidRequest(f"The body was refused: {error.reason}.") from None
        check(self._validator, value)
        return value

    def _check_media(self, content_type: str) -> None:
        media, *parameters = content_type.split(";") if len(content_type) <= MAX_CONTENT_TYPE else [""]
        if media.strip().lower() not in self._media:
            raise UnsupportedMediaType(details={"supported": list(self._media)})
        for text in parameters:
            found = _PARAMETER.fullmatch(text)
            if found is None:
                raise UnsupportedMediaType("Content-Type has a broken parameter.")
            name, value = found[1].lower(), found[2] or found[3] or ""
            if name == "charset" and value.lower() not in ("utf-8", "utf8"):
                raise UnsupportedMediaType("JSON is read as UTF-8 only.")


def has_body(request: Request) -> bool:
    """Whether the header fields announce a body (RFC 9112 §6.3)."""
    return request.header("content-length") not in (None, "0") or request.header("transfer-encoding") is not None


def refuse_body(request: Request) -> None:
    """Raises ``InvalidRequest`` when a body is announced to an operation that takes none."""
    if has_body(request):
        raise InvalidRequest("The operation takes no body.")
