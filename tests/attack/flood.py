"""Strangers at several loopback addresses who have proofs verified as fast as they are let, over connections of their own."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.attack.delegated.scene import canonical
from tests.attack.stranger import PREFIX, base64url

PATH = f"{PREFIX}/zkp/proofs/verify"


def envelope_of(text: str) -> dict[str, Any]:
    """The envelope in a proof's text."""
    from base64 import urlsafe_b64decode

    envelope: dict[str, Any] = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return envelope


def variations(text: str, count: int) -> list[bytes]:
    """Requests with this proof, each about another set: none holds, and each costs the verifier the whole way to the challenge."""
    envelope = envelope_of(text)
    bodies = []
    for number in range(count):
        values = envelope["predicates"][0]["value"]
        changed = [*values[:-1], values[-1] + 1 + number]
        predicate = {**envelope["predicates"][0], "value": changed}
        bodies.append(canonical({"proof": base64url(canonical({**envelope, "predicates": [predicate]}))}))
    return [
        b"POST %b HTTP/1.1\r\nHost: flood\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        % (PATH.encode(), len(body), body)
        for body in bodies
    ]


@dataclass
class Flood:
    """``connections`` from each of the ``addresses``, each sending one request after another; ``pause`` after a refusal."""

    target: tuple[str, int]
    requests: Sequence[bytes]
    addresses: Sequence[str]
    connections: int
    pause: float = 2.0
    answers: Counter[int] = field(default_factory=Counter)
    _sent: int = 0

    async def run(self, until: asyncio.Event) -> None:
        """Until the event is set; what is under way then is broken off."""
        senders = [asyncio.ensure_future(self._send(one)) for one in self.addresses for _ in range(self.connections)]
        await until.wait()
        for sender in senders:
            sender.cancel()
        for outcome in await asyncio.gather(*senders, return_exceptions=True):
            if not isinstance(outcome, asyncio.CancelledError):
                raise RuntimeError(f"a sender ended: {outcome!r}")

    async def _send(self, address: str) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection(*self.target, local_addr=(address, 0))
                with contextlib.closing(writer):
                    while await self._exchange(reader, writer):
                        pass
            except (OSError, asyncio.IncompleteReadError):
                # A client that floods is cut off or refused, and comes again.
                await asyncio.sleep(self.pause)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request. Whether the connection stays open."""
        self._sent += 1
        writer.write(self.requests[self._sent % len(self.requests)])
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head.split(b" ", 2)[1])
        await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n", 1)[0]))
        self.answers[status] += 1
        if status != 200:
            await asyncio.sleep(self.pause)
        return b"connection: close" not in head
