"""A witness over HTTP: the client's side of C2SP tlog-witness, ``add-checkpoint`` and monitoring under one prefix.

It trusts no answer: size and time are limited, compressed answers are not unpacked, and redirects are not followed.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import Final

import httpx

from identity_client.answers import Body, UnreadableAnswer, read_stream
from identity_tlog.note import MAX_NOTE
from identity_tlog.witness import Stale
from identity_transparency.use_cases.feed import WitnessFailed

MAX_ANSWER: Final = 16 * 1024
"""Bytes: four cosignatures of ML-DSA-44."""
DEADLINE_SECONDS: Final = 10.0
SIZE_MEDIA: Final = "text/x.tlog.size"

_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,18})\n", re.ASCII)


class HttpWitness:
    """The port ``CheckpointWitness`` at a submission prefix."""

    def __init__(self, http: httpx.AsyncClient, prefix: str, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._http, self._prefix = http, prefix.rstrip("/")
        self._deadline = deadline_seconds

    async def add_checkpoint(self, body: bytes) -> bytes:
        status, media, data = await self._answer("POST", "add-checkpoint", MAX_ANSWER, body)
        if status == 200:
            return data
        size = _SIZE.fullmatch(data)
        if status == 409 and media == SIZE_MEDIA and size is not None:
            raise Stale(int(size[1]))
        raise _unexpected(status, data)

    async def latest(self, origin: str) -> bytes | None:
        """Return the last checkpoint of the log ``origin`` that the witness cosigned, unverified; None if there is none. Raises
        ``WitnessFailed``."""
        named = hashlib.sha256(origin.encode()).hexdigest()
        status, _, data = await self._answer("GET", f"{named}/checkpoint", MAX_NOTE)
        if status not in (200, 404):
            raise _unexpected(status, data)
        return data if status == 200 else None

    async def _answer(self, method: str, path: str, most: int, body: bytes | None = None) -> tuple[int, str, bytes]:
        """Return status, media type and at most ``most`` bytes, within the deadline. Raises ``WitnessFailed``."""
        try:
            async with asyncio.timeout(self._deadline):
                return await self._received(method, f"{self._prefix}/{path}", most, body)
        except TimeoutError as error:
            raise WitnessFailed(f"no answer within {self._deadline:g} s") from error
        except UnreadableAnswer as error:
            raise WitnessFailed(error.message) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise WitnessFailed(f"no answer: {type(error).__name__} {str(error)[:200]}".rstrip()) from error

    async def _received(self, method: str, place: str, most: int, body: bytes | None) -> tuple[int, str, bytes]:
        headers = {"Accept-Encoding": "identity"}
        if body is not None:
            headers["Content-Type"] = "application/octet-stream"
        async with self._http.stream(method, place, content=body, headers=headers) as answer:
            data = await read_stream(Body(answer, most))
            media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            return answer.status_code, media, data


def _unexpected(status: int, data: bytes) -> WitnessFailed:
    said = data[:200].decode("ascii", "backslashreplace").split("\n")[0]
    return WitnessFailed(f"it answers {status} {said}".rstrip())
