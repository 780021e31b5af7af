"""A small client of one's own, for requests that can be made only once: keep-alive connections on one event loop."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import uvloop

from tools.bench.servers import Reply, Server

PREFIX = "/api/v1"


def creation(more_keys: Sequence[str], **options: object) -> str:
    """The body of a createDid with further keys of these types."""
    purposes = {"Bls12381G2Key2020": ["assertionMethod"], "X25519KeyAgreementKey2020": ["keyAgreement"]}
    options["additionalKeys"] = [{"type": each, "purpose": purposes[each]} for each in more_keys]
    return json.dumps({"method": "ids", "keyType": "Ed25519", "options": options})


def did_path(did: str) -> str:
    """Where a DID is resolved."""
    return f"{PREFIX}/dids/{quote(did, safe=':')}"


def encode_request(method: str, path: str, headers: Mapping[str, str] | None = None, body: str = "") -> bytes:
    """A request as it goes over the wire."""
    content = body.encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: bench"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if content:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class Wire(asyncio.Protocol):
    """A keep-alive connection with one request at a time; answers must have a Content-Length."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._waiting: asyncio.Future[Reply] | None = None

    @classmethod
    async def open(cls, url: str) -> Wire:
        parts = urlsplit(url)
        _, wire = await asyncio.get_running_loop().create_connection(cls, str(parts.hostname), parts.port or 80)
        return wire

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or self._waiting is None or self._waiting.done():
            return
        lowered = head.lower()
        start = lowered.find(b"\r\ncontent-length:")
        length = 0 if start < 0 else int(lowered[start + 17 :].split(b"\r\n", 1)[0])
        if len(rest) >= length:
            self._buffer = b""
            self._waiting.set_result(Reply(int(head[9:12]), rest))

    async def call(self, request: bytes) -> Reply:
        """Raises ``ConnectionError``."""
        if self._transport is None or self._transport.is_closing():
            raise ConnectionError("the connection is closed")
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiting

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


@dataclass(frozen=True)
class Exchange:
    """Answers in the order of the requests, the latency of each in seconds, and how long all took."""

    replies: list[Reply]
    latencies: list[float]
    seconds: float


def exchange(server: Server, requests: Sequence[bytes], connections: int) -> Exchange:
    """Sends each request once, over so many connections. Raises ``TimeoutError`` after ten minutes."""
    return uvloop.run(asyncio.wait_for(_exchange(server, requests, connections), 600))


async def _exchange(server: Server, requests: Sequence[bytes], connections: int) -> Exchange:
    replies = [Reply(0, b"")] * len(requests)
    latencies = [0.0] * len(requests)
    supply = iter(range(len(requests)))
    wires = [await Wire.open(server.url) for _ in range(min(connections, len(requests)))]

    async def send(wire: Wire) -> None:
        for place in supply:
            began = time.perf_counter()
            replies[place] = await wire.call(requests[place])
            latencies[place] = time.perf_counter() - began

    began = time.perf_counter()
    await asyncio.gather(*map(send, wires))
    seconds = time.perf_counter() - began
    for wire in wires:
        wire.close()
    return Exchange(replies, latencies, seconds)


@dataclass(frozen=True)
class Made:
    """A DID that was created here and the secret multikey that signs for it."""

    did: str
    secret: str


def make_dids(server: Server, key: str, count: int, body: str | None = None) -> list[Made]:
    """Creates DIDs over HTTP. Raises ``SystemExit`` when one is refused."""
    request = encode_request("POST", f"{PREFIX}/dids", {"X-API-Key": key}, body or creation([]))
    made = []
    for reply in exchange(server, [request] * count, 32).replies:
        if reply.status != 201:
            raise SystemExit(f"create answers {reply.status}: {reply.body[:300]!r}")
        answer = json.loads(reply.body)
        made.append(Made(answer["did"], answer["keys"]["authentication"]["privateKey"]))
    return made
