"""A witness over HTTP: the client's side of C2SP tlog-witness, ``add-checkpoint``.

It believes nothing: an answer has a size and an end, is never unpacked, and leads nowhere else.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

import httpx

from identity_core.domain.ledger.witness import Stale
from identity_core.ports.witnesses import WitnessFailed

MAX_ANSWER: Final = 16 * 1024
"""Octets: four cosignatures of ML-DSA-44."""
DEADLINE_SECONDS: Final = 10.0
SIZE_MEDIA: Final = "text/x.tlog.size"

_SIZE: Final = re.compile(rb"(0|[1-9][0-9]{0,18})\n", re.ASCII)


class HttpWitness:
    """The port ``CheckpointWitness`` at a submission prefix."""

    def __init__(self, http: httpx.AsyncClient, prefix: str, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._http, self._place = http, f"{prefix.rstrip('/')}/add-checkpoint"
        self._deadline = deadline_seconds

    async def add_checkpoint(self, body: bytes) -> bytes:
        try:
            async with asyncio.timeout(self._deadline):
                status, media, octets = await self._answer(body)
        except TimeoutError as error:
            raise WitnessFailed(f"no answer within {self._deadline:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise WitnessFailed(f"no answer: {type(error).__name__} {str(error)[:200]}".rstrip()) from error
        if status == 200:
            return octets
        size = _SIZE.fullmatch(octets)
        if status == 409 and media == SIZE_MEDIA and size is not None:
            raise Stale(int(size[1]))
        said = octets[:200].decode("ascii", "backslashreplace").split("\n")[0]
        raise WitnessFailed(f"it answers {status} {said}".rstrip())

    async def _answer(self, body: bytes) -> tuple[int, str, bytes]:
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/octet-stream"}
        async with self._http.stream("POST", self._place, content=body, headers=headers) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise WitnessFailed("its answer is packed")
            octets = b""
            async for part in answer.aiter_raw():
                octets += part
                if len(octets) > MAX_ANSWER:
                    raise WitnessFailed(f"its answer has more than {MAX_ANSWER} octets")
            media = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            return answer.status_code, media, octets
