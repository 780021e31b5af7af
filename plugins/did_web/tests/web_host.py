"""A host of did:web documents on loopback: TLS with a CA of its own, answers that a test writes byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trustme
from identity_did_web import DidWeb, WebSettings
from identity_did_web.addresses import Addresses
from identity_did_web.fetch import Fetch, share_of, trust

NAME = "web.example"
LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
CA = trustme.CA()
CERTIFICATE = CA.issue_cert(NAME)
KEY = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"


@dataclass
class Clock:
    time: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    seconds: float = 100.0

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.seconds


@dataclass
class Host:
    """``answers`` maps a path to raw bytes; what is not there is 404. ``requests`` are the heads that arrived."""

    port: int
    answers: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    hang: bool = False

    def did(self, *path: str) -> str:
        return ":".join([f"did:web:{NAME}%3A{self.port}", *path])

    def publish(self, *path: str, **members: Any) -> str:
        did = self.did(*path)
        target = "/" + "/".join(path or (".well-known",)) + "/did.json"
        self.answers[target] = http(json.dumps(document(did) | members).encode())
        return did


def document(did: str) -> dict[str, Any]:
    key = {"id": f"{did}#key-1", "type": "Multikey", "controller": did, "publicKeyMultibase": KEY, "more": {"any": 1}}
    return {
        "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1"],
        "id": did,
        "verificationMethod": [key],
        "authentication": [key["id"]],
        "unknown": {"kept": [True]},
    }


def http(body: bytes, *, status: str = "200 OK", media: str = "application/did+json", more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
    )
    return head.encode() + body


@contextlib.asynccontextmanager
async def hosting(*, certificate: trustme.LeafCert = CERTIFICATE) -> AsyncIterator[Host]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    host = Host(0)
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            host.requests.append(head)
            if host.hang:
                await asyncio.sleep(60)
            writer.write(host.answers.get(head.split(" ")[1], http(b"{}", status="404 Not Found")))
            await writer.drain()
        writer.close()
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()
        for task in [*tasks]:
            task.cancel()


def to_loopback(name: str, port: int, *_: Any) -> Sequence[Any]:
    """A name server that knows one name."""
    if name != NAME:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def method(
    folder: Path,
    *,
    look_up: Any = to_loopback,
    allowed: Sequence[Any] = LOOPBACK,
    clock: Clock | None = None,
    settings: WebSettings | None = None,
) -> DidWeb:
    """The method that trusts the CA of ``hosting``."""
    settings = settings or WebSettings(enabled=True)
    file = folder / "ca.pem"
    CA.cert_pem.write_to_path(str(file))
    addresses = Addresses(ThreadPoolExecutor(settings.fetches), allowed, look_up, share_of(settings.fetches))
    fetch = Fetch(addresses, trust(str(file)), logging.getLogger("did-web"), settings.fetches)
    return DidWeb(fetch, clock or Clock(), settings.cache_seconds, settings.cache_entries)
