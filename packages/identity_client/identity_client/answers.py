"""Answers of the service: their bodies within limits, and the errors of a call."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    import httpx

_SECONDS: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
UNREADABLE: Final = "UNREADABLE"
"""The ``code`` of an answer that is not one of the service."""


class IdentityError(Exception):
    """The service refused a request, does not answer or answers unreadably. ``code`` and ``details`` are as in the Error shape;
    ``retry_after_seconds`` is the wait that the service requires."""

    def __init__(self, status: int, code: str, message: str, details: Mapping[str, Any]) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.retry_after_seconds: float | None = None

    def __str__(self) -> str:
        """Return the error on one line, with the details and the remedy of the answer."""
        details = {name: value for name, value in self.details.items() if name != "remedy"}
        shown = f" {orjson.dumps(details, default=str).decode()}" if details else ""
        return " ".join(f"{super().__str__()}{shown} {self.remedy}".split())

    @property
    def remedy(self) -> str:
        """Remedy of the refusal, from ``details.remedy``; empty if the service gave none."""
        return str(self.details.get("remedy", ""))


class ServiceError(IdentityError):
    """The service answered with an error."""


class UnreadableAnswer(ServiceError):
    """Answer that does not come from the service, or breaks its document."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(status, UNREADABLE, why, {})


class ServiceUnreachable(IdentityError):
    """The URL does not answer."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "UNREACHABLE", message, {})
        self.args = (message,)


class Body:
    """The body of a streamed answer. Raises ``UnreadableAnswer`` for one that is compressed, because a small one can unpack to any size, or
    has more than ``most`` bytes; ``ServiceUnreachable`` at the monotonic time ``ends``."""

    def __init__(self, answer: httpx.Response, most: int, ends: float = math.inf) -> None:
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise UnreadableAnswer(answer.status_code, "the answer is compressed")
        self.answer, self.most, self.ends, self.data = answer, most, ends, bytearray()

    def add(self, part: bytes) -> None:
        """Add the next bytes."""
        self.data += part
        if len(self.data) > self.most:
            raise UnreadableAnswer(self.answer.status_code, f"the answer has more than {self.most} bytes")
        if monotonic() > self.ends:
            raise ServiceUnreachable(f"{self.answer.url} does not answer in time")


def read_whole(body: Body) -> bytes:
    """Return all of a body that is streamed. Raises as ``Body`` does."""
    for part in body.answer.iter_raw():
        body.add(part)
    return bytes(body.data)


async def read_stream(body: Body) -> bytes:
    """Return all of a body that is streamed to asyncio. Raises as ``Body`` does."""
    async for part in body.answer.aiter_bytes():
        body.add(part)
    return bytes(body.data)


def refusal_of(answer: httpx.Response, data: bytes) -> ServiceError:
    """Return the error of an answer; ``UnreadableAnswer`` when it has not the shape of one of the service."""
    said = answer.headers.get("retry-after", "")
    try:
        error = orjson.loads(data)["error"]
        code, message, details = error["code"], error["message"], error.get("details") or {}
        if not isinstance(code, str) or not isinstance(details, dict):
            raise TypeError("not the shape of an error")
        refused = ServiceError(answer.status_code, code, str(message), details)
    except (ValueError, KeyError, TypeError, AttributeError):
        # A proxy before the service, for example: its own words are all that there is.
        refused = UnreadableAnswer(answer.status_code, data[:200].decode("utf-8", "backslashreplace"))
    refused.retry_after_seconds = float(said) if _SECONDS.fullmatch(said) else None
    return refused
